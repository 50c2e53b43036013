import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { PostgresLockDriver } from '../../../lib/drivers/postgres/index.js';
import { LockService } from '../../../lib/lock.service.js';
import { PgBouncer } from '../../support/postgres/pgbouncer.js';
import { adminDatabase, usePool, usePostgres } from '../../support/postgres/use-postgres.js';
import { useDrivers } from '../../support/postgres/use-drivers.js';

const database = usePostgres();
const server = adminDatabase();
const pool = usePool(database.url);
const migration = new PostgresLockDriver(pool);
beforeAll(() => migration.connect());
afterAll(() => migration.close());
const driver = useDrivers(() => ({ pool }));

const HOUR = 3_600_000;
let count = 0;
const newKey = (): string => `key:${count++}`;

/** Counts what a driver tells of a key. */
const listen = (to: PostgresLockDriver, key: string): { count: number } => {
  const heard = { count: 0 };
  to.onReleased?.(key, () => heard.count++);
  return heard;
};

/** Holds a key that somebody else wants, or nobody. */
async function hold(on: PostgresLockDriver, key: string, wantFor?: number): Promise<void> {
  await on.acquire({ key, owner: 'a:1#1', ttl: HOUR });
  await on.acquire({ key, owner: 'b:1#1', ttl: HOUR, wantFor });
}

const wantedUntil = async (key: string): Promise<unknown> => {
  const text = `SELECT greatest(wanted, 0)::text AS wanted FROM distributed_lock WHERE key = $1`;
  return (await database.query(text, [key]))[0]?.['wanted'];
};

/** Ends the connections that listen in this database, as a failing network does. */
const cutListeners = (): Promise<unknown> =>
  server.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND query LIKE 'LISTEN%'`,
    [database.name],
  );

describe('notices of release', () => {
  it('are only sent where somebody wants the lock', async () => {
    const watcher = new Client({ connectionString: database.url });
    await watcher.connect();
    const told: (string | undefined)[] = [];
    watcher.on('notification', ({ payload }) => told.push(payload));
    const [first] = await database.query(
      `SELECT 'nestjs-lock-' || left(encode(sha256('"public"."distributed_lock"'), 'hex'), 32) AS channel`,
    );
    await watcher.query(`LISTEN "${first?.['channel'] as string}"`);
    const own = driver();
    const [wanted, unwanted, retained, forced] = [newKey(), newKey(), newKey(), newKey()];
    await hold(own, unwanted);
    await own.release({ key: unwanted, owner: 'a:1#1' });
    for (const key of [wanted, retained, forced]) {
      await hold(own, key, HOUR);
    }
    await own.release({ key: wanted, owner: 'a:1#1' });
    await own.release({ key: retained, owner: 'a:1#1', retainFor: 1000 });
    await own.forceRelease(forced);
    await expect.poll(() => told).toContain(`k${forced}`);
    expect(told.filter((payload) => payload?.startsWith('k'))).toEqual(
      [wanted, retained, forced].map((key) => `k${key}`),
    );
    await watcher.end();
  });

  it('come for the key alone', async () => {
    const [own, other] = [driver(), driver()];
    const [key, another] = [newKey(), newKey()];
    const [heard, notMine] = [listen(own, key), listen(own, another)];
    await expect.poll(() => heard.count).toBe(1);
    await hold(other, key, HOUR);
    await other.release({ key, owner: 'a:1#1' });
    await expect.poll(() => heard.count).toBe(2);
    expect(notMine.count).toBe(1);
  });

  it('are told of once the connection listens, and whenever it does so again', async () => {
    const own = driver();
    const key = newKey();
    const heard = listen(own, key);
    await expect.poll(() => heard.count).toBe(1);
    await cutListeners();
    await expect.poll(() => heard.count).toBe(2);
    await hold(own, key, HOUR);
    await own.release({ key, owner: 'a:1#1' });
    await expect.poll(() => heard.count).toBe(3);
  });

  it('are not offered while the connection is gone, nor where they are not wanted', async () => {
    const own = driver();
    const heard = listen(own, newKey());
    await expect.poll(() => heard.count).toBe(1);
    await server.query(`ALTER DATABASE ${database.name} ALLOW_CONNECTIONS false`);
    await cutListeners();
    await expect.poll(() => own.onReleased).toBeUndefined();
    await server.query(`ALTER DATABASE ${database.name} ALLOW_CONNECTIONS true`);
    await expect.poll(() => own.onReleased).toBeDefined();
    expect(driver({ notify: false }).onReleased).toBeUndefined();
  });

  it('wake a waiter of another process long before it would ask again', async () => {
    const [holder, waiter] = [driver(), driver()].map(
      (each) => new LockService({ driver: each, drainTimeout: 0, retry: { min: HOUR, max: HOUR } }),
    ) as [LockService, LockService];
    const key = newKey();
    const held = await holder.acquire(key, { ttl: HOUR });
    const waiting = waiter.acquire(key, { ttl: HOUR, wait: Infinity });
    await expect.poll(() => wantedUntil(key)).not.toBe('0');
    await held.release();
    const next = await waiting;
    expect(next.fencingToken > held.fencingToken).toBe(true);
    await next.release();
  });
});

const program = inject('pgbouncer');

describe.skipIf(program.kind === 'none')('behind a pooler that shares sessions', () => {
  let pooler: PgBouncer;
  beforeAll(async () => {
    pooler = await PgBouncer.start(program.kind === 'program' ? program.path : '', database.url);
  });
  afterAll(() => pooler.stop());

  const pooled = { pool: undefined, prepare: false };

  it('notices are not counted on, and waiters ask again and again', async () => {
    const own = driver({ ...pooled, connectionString: pooler.url });
    const service = new LockService({ driver: own, drainTimeout: 0 });
    const key = newKey();
    expect(own.onReleased).toBeUndefined();
    const held = await service.acquire(key, { ttl: HOUR });
    const other = driver({ ...pooled, connectionString: pooler.url });
    const waiting = new LockService({ driver: other, drainTimeout: 0 }).acquire(key, {
      ttl: HOUR,
      wait: Infinity,
    });
    await expect.poll(() => wantedUntil(key)).not.toBe('0');
    await held.release();
    expect(await (await waiting).release()).toBe(true);
    expect(other.onReleased).toBeUndefined();
  });

  it('the set-up says what to do if it was not told of it', async () => {
    const own = driver({ pool: undefined, connectionString: pooler.url });
    await expect(own.connect()).rejects.toThrow(/pooler.*`prepare: false`/);
  });

  it('the set-up says so too where the pooler swallows the settings', async () => {
    const path = program.kind === 'program' ? program.path : '';
    await using quiet = await PgBouncer.start(path, database.url, {
      ignore_startup_parameters: 'options',
    });
    const own = driver({ pool: undefined, connectionString: quiet.url });
    await expect(own.connect()).rejects.toThrow(/pooler in between: set `prepare: false`/);
  });

  it('notices work where each client has a session to itself', async () => {
    const path = program.kind === 'program' ? program.path : '';
    await using sessions = await PgBouncer.start(path, database.url, {
      pool_mode: 'session',
      default_pool_size: '10',
    });
    const own = driver({ ...pooled, connectionString: sessions.url });
    const key = newKey();
    await hold(own, key, HOUR);
    await expect.poll(() => own.onReleased).toBeDefined();
    const heard = listen(own, key);
    await own.release({ key, owner: 'a:1#1' });
    await expect.poll(() => heard.count).toBe(1);
    await own.close();
  });
});
