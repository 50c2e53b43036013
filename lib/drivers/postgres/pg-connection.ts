import { LockDriverError } from '../../errors/lock-driver.error.js';
import type { ClientFactory } from './client-factory.js';
import { type AnswerLimit, answerWithin } from './answer-limit.js';
import type { PgClient, Row } from './pg-port.js';
import { codeOf, driverError, isOfServer } from './postgres-error.js';
import type { Protocol } from './protocol.js';
import type { Statement } from './statement.js';
import { ANSWER_SLACK, STATEMENT_TIMEOUT } from './timeouts.js';

/** The server takes no writes any more: after a failover another one does, and a new connection may lead there. */
const READ_ONLY = '25006';

/** How long a friendly end may take before the socket is destroyed. */
const GOODBYE_TIMEOUT = 500;

/**
 * One connection of our own, opened when it is first used and again after it broke. It takes one statement at a time,
 * and keeps the process alive only meanwhile.
 */
export class PgConnection {
  readonly #create: ClientFactory;
  readonly #protocol: Protocol;
  #client: PgClient | null = null;
  #opening: PgClient | null = null;
  #closed = false;

  constructor(create: ClientFactory, protocol: Protocol) {
    this.#create = create;
    this.#protocol = protocol;
  }

  /** Runs a statement; a failure is a `LockDriverError`, and unless the server said why its outcome is unknown. */
  async run(statement: Statement): Promise<readonly Row[]> {
    try {
      const client = this.#client ?? (await this.#open());
      return await this.#ask(client, statement);
    } catch (error) {
      throw driverError(error);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    const client = this.#client;
    this.#client = null;
    if (this.#opening !== null) {
      destroy(this.#opening);
    }
    if (client !== null) {
      await sayGoodbye(client);
    }
  }

  /** The connection may be opened again. */
  reopen(): void {
    this.#closed = false;
  }

  async #ask(client: PgClient, statement: Statement): Promise<readonly Row[]> {
    client.ref?.();
    const limit: AnswerLimit = {
      ms: (statement.timeout ?? STATEMENT_TIMEOUT) + ANSWER_SLACK,
      onSilence: () => this.#drop(client),
    };
    try {
      return await answerWithin(this.#protocol.send(client, statement), limit);
    } catch (error) {
      if (!isOfServer(error) || codeOf(error) === READ_ONLY) {
        this.#drop(client);
      }
      throw error;
    } finally {
      client.unref?.();
    }
  }

  async #open(): Promise<PgClient> {
    this.#refuseIfClosed();
    const client = await this.#create();
    // Without a listener the end of an idle connection would end the process.
    client.on('error', () => this.#drop(client));
    client.on('end', () => this.#drop(client));
    this.#opening = client;
    try {
      await this.#begin(client);
    } catch (error) {
      destroy(client);
      throw error;
    } finally {
      this.#opening = null;
    }
    this.#client = client;
    return client;
  }

  async #begin(client: PgClient): Promise<void> {
    this.#refuseIfClosed();
    await client.connect();
    const limit = { ms: STATEMENT_TIMEOUT + ANSWER_SLACK, onSilence: () => destroy(client) };
    await answerWithin(this.#protocol.begin(client), limit);
    this.#refuseIfClosed();
  }

  #refuseIfClosed(): void {
    if (this.#closed) {
      throw new LockDriverError('The driver is closed');
    }
  }

  #drop(client: PgClient): void {
    if (this.#client === client) {
      this.#client = null;
    }
    destroy(client);
  }
}

/** Ends a client as the server likes it, or at once where the server does not listen. */
export async function sayGoodbye(client: PgClient): Promise<void> {
  const ended = client.end();
  await answerWithin(ended, { ms: GOODBYE_TIMEOUT, onSilence: () => destroy(client) }).catch(
    () => undefined,
  );
}

export function destroy(client: PgClient): void {
  client.connection?.stream?.destroy();
}
