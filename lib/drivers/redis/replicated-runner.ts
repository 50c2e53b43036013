import { LockDriverError } from '../../errors/lock-driver.error.js';
import { explain } from './explain-error.js';
import type { DedicatedConnection, RedisPort, ReplicatedReply } from './redis-port.js';
import { orBySource, type ScriptRunner } from './script-runner.js';
import type { Script } from './scripts.js';

/** How many replicas must have a lock before it counts as granted or renewed. */
export interface ReplicaSettings {
  readonly min: number;
  /** Milliseconds to wait for them. */
  readonly timeout: number;
}

/**
 * Runs scripts on a connection of its own and waits until replicas have what they did. On a connection that others use
 * `WAIT` would hold them all up; on another than the script's it would say nothing.
 */
export class ReplicatedRunner implements ScriptRunner {
  readonly #port: RedisPort;
  readonly #settings: ReplicaSettings;
  readonly #patience: number;
  #connection: Promise<DedicatedConnection> | null = null;
  #isClosed = false;

  /** @param patience how many milliseconds the connection may take to be there: a client may try for ever */
  constructor(port: RedisPort, settings: ReplicaSettings, patience: number) {
    this.#port = port;
    this.#settings = settings;
    this.#patience = patience;
  }

  async run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const connection = await this.connect();
    const { min, timeout } = this.#settings;
    const call = (by: 'evalsha' | 'eval'): Promise<ReplicatedReply> => {
      const code = by === 'eval' ? script.source : script.digest;
      return connection.callAndWait({ by, script: code, keys, args }, min, timeout);
    };
    const { reply, replicas } = await orBySource(
      () => call('evalsha'),
      () => call('eval'),
    );
    if (replicas < min) {
      throw new LockDriverError(
        `${replicas} of the ${min} replicas that must have it have confirmed within ${timeout} ms (replicas.min)`,
      );
    }
    return reply;
  }

  /** Finds out whether `WAIT` is allowed, by one that is over at once. */
  async rehearse(): Promise<void> {
    const connection = await this.connect();
    const call = { by: 'eval', script: 'return 1', keys: [], args: [] } as const;
    try {
      await connection.callAndWait(call, 0, 1);
    } catch (error) {
      connection.close();
      throw explain(error);
    }
  }

  async connect(): Promise<DedicatedConnection> {
    const opening = (this.#connection ??= this.#open());
    const connection = await opening;
    if (!connection.isOver || this.#isClosed) {
      return connection;
    }
    // Another who found it over may have replaced it already.
    if (this.#connection === opening) {
      this.#connection = null;
    }
    return this.connect();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const connection = await this.#connection?.catch(() => null);
    connection?.close();
  }

  async #open(): Promise<DedicatedConnection> {
    if (this.#isClosed) {
      throw new LockDriverError('The driver is closed');
    }
    try {
      return await this.#port.dedicated(this.#patience);
    } catch (error) {
      this.#connection = null;
      throw explain(error);
    }
  }
}
