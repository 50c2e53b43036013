import { Client } from 'pg';
import type { DataSource, EntityManager } from 'typeorm';
import type { PostgresLockDriver } from '../../../lib/drivers/postgres/index.js';
import { FencingGate } from '../../../lib/fencing/fencing-gate.js';
import { LockService } from '../../../lib/lock.service.js';
import { Deferred } from '../deferred.js';

/** A user's transaction that is open. */
export interface OpenTransaction {
  /** What the gate is given. */
  readonly given: unknown;
  admit(resource: string, token: bigint): Promise<void>;
  query(text: string, values?: unknown[]): Promise<unknown>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

/** Opens a transaction of one kind of client. */
export type Begin = (gate: FencingGate, isolation?: string) => Promise<OpenTransaction>;

/** The gate on a driver. */
export const gateOn = (driver: PostgresLockDriver): FencingGate =>
  new FencingGate(new LockService(driver));

type Ask = (gate: FencingGate, client: Client) => (r: string, t: bigint) => Promise<void>;

const byClient =
  (url: string, ask: Ask): Begin =>
  async (gate, isolation = 'READ COMMITTED') => {
    const client = new Client({ connectionString: url });
    client.on('error', () => undefined);
    await client.connect();
    await client.query(`BEGIN ISOLATION LEVEL ${isolation}`);
    const end = async (how: string): Promise<void> => {
      await client.query(how);
      await client.end();
    };
    return {
      given: client,
      admit: ask(gate, client),
      query: (text, values) => client.query(text, values),
      commit: () => end('COMMIT'),
      rollback: () => end('ROLLBACK'),
    };
  };

const byRunner =
  (dataSource: DataSource): Begin =>
  async (gate) => {
    const runner = dataSource.createQueryRunner();
    await runner.startTransaction();
    const end = async (how: Promise<void>): Promise<void> => {
      await how;
      await runner.release();
    };
    return {
      given: runner,
      admit: (resource, token) => gate.admit(resource, token, runner),
      query: (text, values) => runner.query(text, values),
      commit: () => end(runner.commitTransaction()),
      rollback: () => end(runner.rollbackTransaction()),
    };
  };

const ROLLED_BACK = new Error('rolled back');

/** The transaction is a callback, which waits until it is told how to end. */
const byManager =
  (dataSource: DataSource): Begin =>
  async (gate) => {
    const began = new Deferred<EntityManager>();
    const ended = new Deferred();
    const over = dataSource.transaction(async (manager) => {
      began.resolve(manager);
      await ended.promise;
    });
    over.catch(() => undefined);
    const manager = await began.promise;
    return {
      given: manager,
      admit: (resource, token) => gate.admit(resource, token, manager),
      query: (text, values) => manager.query(text, values),
      commit: async () => {
        ended.resolve();
        await over;
      },
      rollback: async () => {
        ended.reject(ROLLED_BACK);
        await over.catch(() => undefined);
      },
    };
  };

/** As a client does it that has its own names for everything. */
const askByStatement: Ask = (gate, client) => async (resource, token) => {
  const { text, values, check } = gate.statement(resource, token);
  const { rows } = await client.query<object>(text, [...values]);
  check(rows);
};

/** All kinds of clients, by name. */
export function beginners(
  url: string,
  dataSource: () => DataSource,
): Readonly<Record<string, Begin>> {
  return {
    'a client of pg': byClient(url, (gate, client) => (r, t) => gate.admit(r, t, client)),
    'a statement of its own': byClient(url, askByStatement),
    'an EntityManager': (gate) => byManager(dataSource())(gate),
    'a QueryRunner': (gate) => byRunner(dataSource())(gate),
  };
}
