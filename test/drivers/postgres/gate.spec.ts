import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type PostgresLockDriver, schema } from '../../../lib/drivers/postgres/index.js';
import { LockConfigError } from '../../../lib/errors/lock-config.error.js';
import { LockDriverError } from '../../../lib/errors/lock-driver.error.js';
import { LockError } from '../../../lib/errors/lock.error.js';
import { StaleFencingTokenError } from '../../../lib/errors/stale-fencing-token.error.js';
import type { FencingGate } from '../../../lib/fencing/fencing-gate.js';
import { type Begin, beginners, gateOn } from '../../support/postgres/transactions.js';
import { useDrivers } from '../../support/postgres/use-drivers.js';
import { usePool, usePostgres } from '../../support/postgres/use-postgres.js';

const database = usePostgres();
const pool = usePool(database.url);
const newDriver = useDrivers(() => ({ pool, retention: '10s' }));
// Numbers that are parsed another way change nothing.
const dataSource = new DataSource({ type: 'postgres', url: database.url, parseInt8: true });

let driver: PostgresLockDriver;
let gate: FencingGate;
/** A token of now, and one from a second before. */
let newer: bigint;
let older: bigint;
let resource: string;

beforeAll(async () => {
  await dataSource.initialize();
  await database.query('CREATE TABLE account (id text PRIMARY KEY, writer text)');
});
afterAll(() => dataSource.destroy());

beforeEach(async () => {
  driver = newDriver();
  await driver.connect();
  gate = gateOn(driver);
  newer = BigInt(Date.now()) * 1000n;
  older = newer - 1_000_000n;
  resource = `account:${randomUUID()}`;
  await database.query('INSERT INTO account VALUES ($1, $2)', [resource, 'nobody']);
});

const writerOf = async (): Promise<unknown> =>
  (await database.query('SELECT writer FROM account WHERE id = $1', [resource]))[0]?.['writer'];

const rowOf = async (
  table = 'distributed_lock_gate',
): Promise<Record<string, unknown> | undefined> =>
  (
    await database.query(`SELECT token::text, expires::text FROM ${table} WHERE resource = $1`, [
      resource,
    ])
  )[0];

/** Whether a statement of the gate waits for somebody's transaction. */
const isWaiting = async (): Promise<boolean> => {
  const [found] = await database.query(
    `SELECT count(*)::int AS n FROM pg_stat_activity
     WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%distributed_lock_gate%'`,
  );
  return found?.['n'] === 1;
};

/** Asks in what seems to be a transaction, whose client gives this answer. */
const asking = (answer: unknown): Promise<void> =>
  gate.admit(resource, newer, { query: () => Promise.resolve(answer) });

const ask = (retention: number, token = older): Promise<unknown> =>
  driver.admitToken({ resource, token: Number(token), retention });

const WRITE = 'UPDATE account SET writer = $2 WHERE id = $1';
const microseconds = (ms: number): bigint => BigInt(ms) * 1000n;
const DAY = 24 * 3_600_000;

describe.each(Object.entries(beginners(database.url, () => dataSource)))(
  'the gate in a transaction of %s',
  (_, begin) => {
    it('commits with what is written, and is undone with it', async () => {
      const undone = await begin(gate);
      await undone.admit(resource, newer);
      await undone.query(WRITE, [resource, 'undone']);
      await undone.rollback();
      expect(await rowOf()).toBeUndefined();

      const done = await begin(gate);
      await done.admit(resource, older);
      await done.query(WRITE, [resource, 'done']);
      expect(await rowOf()).toBeUndefined();
      await done.commit();
      expect(await rowOf()).toMatchObject({ token: String(older) });
      expect(await writerOf()).toBe('done');
    });

    it('lets a newer token wait for an older one that was admitted first', async () => {
      const [first, second] = [await begin(gate), await begin(gate)];
      await first.admit(resource, older);
      const waiting = second.admit(resource, newer);
      await expect.poll(isWaiting).toBe(true);
      await first.query(WRITE, [resource, 'older']);
      await first.commit();
      await waiting;
      await second.query(WRITE, [resource, 'newer']);
      await second.commit();
      expect(await writerOf()).toBe('newer');
      expect(await rowOf()).toMatchObject({ token: String(newer) });
    });

    it.each(['that nobody has seen', 'that is known'])(
      'refuses an older token when a newer one commits while it waits, on a resource %s',
      async (which) => {
        if (which === 'that is known') {
          await gate.admit(resource, older - 1n);
        }
        const [first, second] = [await begin(gate), await begin(gate)];
        await first.admit(resource, newer);
        const waiting = second.admit(resource, older);
        waiting.catch(() => undefined);
        await expect.poll(isWaiting).toBe(true);
        await first.query(WRITE, [resource, 'newer']);
        await first.commit();
        await expect(waiting).rejects.toThrow(StaleFencingTokenError);
        await expect(waiting).rejects.toMatchObject({ rule: 'older', newest: String(newer) });
        await second.rollback();
        expect(await writerOf()).toBe('newer');
      },
    );

    it('admits an older token when the newer one is rolled back while it waits', async () => {
      const [first, second] = [await begin(gate), await begin(gate)];
      await first.admit(resource, newer);
      const waiting = second.admit(resource, older);
      await expect.poll(isWaiting).toBe(true);
      await first.rollback();
      await waiting;
      await second.commit();
      expect(await rowOf()).toMatchObject({ token: String(older) });
    });

    it('refuses forged and forgotten tokens, which leave nothing behind', async () => {
      const transaction = await begin(gate);
      await expect(transaction.admit(resource, 2n ** 62n)).rejects.toMatchObject({ rule: 'ahead' });
      const forgotten = newer - microseconds(8 * DAY);
      await expect(transaction.admit(resource, forgotten)).rejects.toMatchObject({
        rule: 'forgotten',
      });
      await transaction.commit();
      expect(await rowOf()).toBeUndefined();
      await expect(gate.admit(resource, newer)).resolves.toBeUndefined();
    });
  },
);

describe('the gate in a transaction', () => {
  const { 'a client of pg': begin } = beginners(database.url, () => dataSource) as Readonly<
    Record<'a client of pg', Begin>
  >;

  it('throws what the server says to the transaction as it is', async () => {
    await gate.admit(resource, older);
    const transaction = await begin(gate, 'REPEATABLE READ');
    await transaction.query('SELECT 1');
    await gate.admit(resource, newer);
    const error: unknown = await transaction.admit(resource, newer).catch((e: unknown) => e);
    expect(error).toMatchObject({ code: '40001', severity: 'ERROR' });
    expect(error).not.toBeInstanceOf(LockError);
    await transaction.rollback();
  });

  it('takes part in a deadlock of gates that are taken in different orders, and says so as the server does', async () => {
    const other = `${resource}:other`;
    const [first, second] = [await begin(gate), await begin(gate)];
    await first.admit(resource, newer);
    await second.admit(other, newer);
    const outcomes = await Promise.allSettled([
      first.admit(other, newer).catch(async (error: unknown) => {
        await first.rollback();
        throw error;
      }),
      second.admit(resource, newer).catch(async (error: unknown) => {
        await second.rollback();
        throw error;
      }),
    ]);
    const failures = outcomes.filter(({ status }) => status === 'rejected');
    expect(failures).toMatchObject([{ reason: { code: '40P01' } }]);
    await (outcomes[0].status === 'rejected' ? second : first).commit();
  });

  it('is refused where there is none', async () => {
    const idle = dataSource.createQueryRunner();
    const ended = dataSource.createQueryRunner();
    await ended.startTransaction();
    await ended.commitTransaction();
    const outside: unknown[] = [pool, dataSource, dataSource.manager, idle, idle.manager, ended];
    for (const each of outside) {
      const admitting = gate.admit(resource, newer, each);
      await expect(admitting).rejects.toThrow(LockConfigError);
      await expect(admitting).rejects.toThrow(/is in none, so check and write would not commit/);
    }
    for (const each of [null, {}, { $queryRaw: () => [] }, 'BEGIN', { query: {} }]) {
      await expect(gate.admit(resource, newer, each)).rejects.toThrow(
        /has no query\(\).*statement/,
      );
    }
    expect(await rowOf()).toBeUndefined();
    await Promise.all([idle.release(), ended.release()]);
  });

  it('is refused for a client that answers in another way', async () => {
    await expect(asking(undefined)).rejects.toThrow(/answers without rows/);
    await expect(asking({ rowCount: 1 })).rejects.toThrow(/answers without rows/);
    await expect(asking([])).rejects.toThrow(/these are not its rows/);
    await expect(asking([[{ rule: 'admitted' }], []])).rejects.toThrow(/these are not its rows/);
    await expect(asking({ rows: [['admitted', '1', 'true']] })).rejects.toThrow(LockConfigError);
  });
});

describe('the statement of the gate', () => {
  it('has each parameter once and in order, as text, for clients that count them', () => {
    const { text, values } = gate.statement(`'; -- $1 ?`, newer);
    expect(text.match(/\$\d+(::\w+)?/g)).toEqual(['$1::text', '$2::text', '$3::text']);
    expect(text).not.toContain('?');
    expect(values).toEqual([`'; -- $1 ?`, String(newer), String(microseconds(7 * DAY))]);
  });
});

describe('the gate by itself', () => {
  it('lets the newest of many tokens win that come at once from many connections', async () => {
    const drivers = Array.from({ length: 4 }, () => newDriver({ poolSize: 6 }));
    for (let round = 0; round < 5; round++) {
      const fresh = `${resource}:${round}`;
      const tokens = Array.from({ length: 200 }, (_, i) => newer - BigInt((i * 87) % 200));
      const outcomes = await Promise.allSettled(
        tokens.map((token, i) => gateOn(drivers[i % 4] as PostgresLockDriver).admit(fresh, token)),
      );
      const failures = outcomes.flatMap((each) =>
        each.status === 'rejected' ? [each.reason] : [],
      );
      expect(failures.every((each) => each instanceof StaleFencingTokenError)).toBe(true);
      expect(outcomes[tokens.indexOf(newer)]?.status).toBe('fulfilled');
      await expect(gate.admit(fresh, newer - 1n)).rejects.toMatchObject({ rule: 'older' });
    }
  });

  it('waits for a transaction that does not end, and meanwhile holds up no lock', async () => {
    const own = newDriver({ poolSize: 3 });
    await own.connect();
    const client = new Client({ connectionString: database.url });
    await client.connect();
    await client.query('BEGIN');
    await gate.admit(resource, older, client);
    const waiting = gateOn(own).admit(resource, newer);
    waiting.catch(() => undefined);
    await expect.poll(isWaiting).toBe(true);
    const lease = { key: resource, owner: 'a:1#1', ttl: 60_000 };
    expect(await own.acquire(lease)).toHaveProperty('firstToken');
    expect(await own.renew([lease])).toEqual([{ renewed: true }]);
    expect(await own.release(lease)).toEqual({ released: true });
    expect(await isWaiting()).toBe(true);
    await expect(waiting).rejects.toThrow(LockDriverError);
    await expect(waiting).rejects.toThrow(/A transaction that has admitted a token.*did not end/);
    await client.end();
    await expect(gateOn(own).admit(resource, newer)).resolves.toBeUndefined();
  });
});

describe('the table of the gate', () => {
  it('may be missing where nobody uses the gate, and can be made while the application runs', async () => {
    const table = `locks_${randomUUID().slice(0, 8)}`;
    await database.query(schema({ table }));
    await database.query(`DROP TABLE ${table}_gate`);
    const own = newDriver({ table, createTable: false });
    expect(await own.connect()).toEqual([]);
    expect(await own.acquire({ key: 'a', owner: 'a:1#1', ttl: 1000 })).toHaveProperty('firstToken');

    const client = new Client({ connectionString: database.url });
    await client.connect();
    await client.query('BEGIN');
    for (const transaction of [undefined, client]) {
      const admitting = gateOn(own).admit(resource, newer, transaction);
      await expect(admitting).rejects.toThrow(LockConfigError);
      await expect(admitting).rejects.toThrow(
        new RegExp(`cannot use its table "public"."${table}_gate": .*does not exist. Run the SQL`),
      );
      await expect(admitting).rejects.toHaveProperty('cause.code', '42P01');
    }
    await client.end();

    await database.query(schema({ table }));
    await expect(gateOn(own).admit(resource, newer)).resolves.toBeUndefined();
    expect(await rowOf(`${table}_gate`)).toMatchObject({ token: String(newer) });
  });

  it('is made where it alone is missing', async () => {
    const table = `locks_${randomUUID().slice(0, 8)}`;
    await database.query(schema({ table }));
    await database.query(`DROP TABLE ${table}_gate`);
    const own = newDriver({ table });
    expect(await own.connect()).toEqual([]);
    await expect(gateOn(own).admit(resource, newer)).resolves.toBeUndefined();
  });

  it('is warned of at boot where it is another table', async () => {
    const table = `locks_${randomUUID().slice(0, 8)}`;
    await database.query(`CREATE TABLE ${table}_gate (resource text PRIMARY KEY, token text)`);
    const own = newDriver({ table });
    const complaint =
      /is not the table of the fencing gate: "resource" is text and must be text COLLATE "C"/;
    expect(await own.connect()).toEqual([expect.stringMatching(complaint)]);
    expect(await own.acquire({ key: 'a', owner: 'a:1#1', ttl: 1000 })).toHaveProperty('firstToken');
    await expect(gateOn(own).admit(resource, newer)).rejects.toThrow(LockConfigError);
  });

  it('keeps a row for the longest retention that was asked for', async () => {
    await ask(10 * DAY);
    const { expires } = (await rowOf()) as { expires: string };
    await ask(DAY);
    expect(await rowOf()).toMatchObject({ expires });
    await ask(11 * DAY, newer);
    expect(BigInt(((await rowOf()) as { expires: string }).expires)).toBeGreaterThan(
      BigInt(expires) + microseconds(DAY / 2),
    );
  });

  it('keeps a row no longer for tokens that are refused', async () => {
    await ask(DAY, newer);
    const before = await rowOf();
    expect(await ask(10 * DAY, older)).toMatchObject({ rule: 'older' });
    expect(await rowOf()).toEqual(before);
  });

  it('forgets rows that have expired, a few at a time, while others come', async () => {
    await ask(DAY);
    await database.query(
      `INSERT INTO distributed_lock_gate SELECT 'old:' || i, 1, 1 FROM generate_series(1, 300) i`,
    );
    const leftOver = async (): Promise<unknown> =>
      (
        await database.query(
          `SELECT count(*)::int AS n FROM distributed_lock_gate WHERE resource LIKE 'old:%'`,
        )
      )[0]?.['n'];
    const names = Array.from({ length: 500 }, (_, i) => `${resource}:${i}`);
    await Promise.all(names.map((name) => gate.admit(name, newer)));
    await expect.poll(leftOver).toBe(0);
    expect(await rowOf()).toMatchObject({ token: String(older) });
    const [kept] = await database.query(
      `SELECT count(*)::int AS n FROM distributed_lock_gate WHERE starts_with(resource, $1)`,
      [`${resource}:`],
    );
    expect(kept).toEqual({ n: 500 });
  });

  it('lets no token through from before its memory because the row goes while it is asked', async () => {
    await ask(DAY);
    const purging = new Client({ connectionString: database.url });
    await purging.connect();
    await purging.query('BEGIN');
    await purging.query('DELETE FROM distributed_lock_gate WHERE resource = $1', [resource]);
    const waiting = ask(1);
    await expect.poll(isWaiting).toBe(true);
    await purging.query('COMMIT');
    await purging.end();
    expect(await waiting).toEqual({ admitted: false, rule: 'forgotten' });
    expect(await rowOf()).toBeUndefined();
  });
});
