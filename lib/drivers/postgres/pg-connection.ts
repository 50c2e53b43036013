import { LockDriverError } from '../../errors/lock-driver.error.js';
import type { ClientFactory } from './client-factory.js';
import { answerWithin } from './answer-limit.js';
import type { PgClient, Row } from './pg-port.js';
import { driverError, isEndOfConnection } from './postgres-error.js';
import { type Protocol, rowsOf } from './protocol.js';
import type { Statement } from './statement.js';
import { ANSWER_SLACK, STATEMENT_TIMEOUT } from './timeouts.js';
import { Watchdog } from './watchdog.js';

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
  readonly #watchdog = new Watchdog();
  /** Why the statement under way was given up, if it was. */
  #silence: LockDriverError | undefined;

  constructor(create: ClientFactory, protocol: Protocol) {
    this.#create = create;
    this.#protocol = protocol;
  }

  /** Runs a statement; a failure is a `LockDriverError`, and unless the server said why its outcome is unknown. */
  async run(statement: Statement): Promise<readonly Row[]> {
    const { timeout = STATEMENT_TIMEOUT } = statement;
    let client: PgClient | null = null;
    try {
      client = this.#client ?? (await this.#open());
      this.#begin(client, timeout + ANSWER_SLACK);
      return rowsOf(await this.#protocol.send(client, statement));
    } catch (error) {
      throw driverError(this.#failed(client, error));
    } finally {
      this.#watchdog.callOff();
      client?.connection?.stream?.unref?.();
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

  /** A connection that is destroyed fails what is under way. */
  #begin(client: PgClient, limit: number): void {
    this.#silence = undefined;
    client.connection?.stream?.ref?.();
    this.#watchdog.watch(limit, () => {
      this.#silence = new LockDriverError(`The server did not answer within ${limit / 1000} s`);
      this.#drop(client);
    });
  }

  #failed(client: PgClient | null, error: unknown): unknown {
    if (client !== null && isEndOfConnection(error)) {
      this.#drop(client);
    }
    return this.#silence ?? error;
  }

  async #open(): Promise<PgClient> {
    this.#refuseIfClosed();
    const client = await this.#create();
    // Without a listener the end of an idle connection would end the process.
    client.on('error', () => this.#drop(client));
    client.on('end', () => this.#drop(client));
    this.#opening = client;
    try {
      await this.#connect(client);
    } catch (error) {
      destroy(client);
      throw error;
    } finally {
      this.#opening = null;
    }
    this.#client = client;
    return client;
  }

  async #connect(client: PgClient): Promise<void> {
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

/** Ends a client at once, which fails what is under way. */
export function destroy(client: PgClient): void {
  const stream = client.connection?.stream;
  if (stream === undefined) {
    client.end().catch(() => undefined);
  } else {
    stream.destroy();
  }
}
