import { Client } from 'pg';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { PostgresLockDriver } from '../../../lib/drivers/postgres/index.js';
import { ObservedPool } from '../../support/postgres/observed-pool.js';
import { usePostgres } from '../../support/postgres/use-postgres.js';
import { useDrivers } from '../../support/postgres/use-drivers.js';

const database = usePostgres();
const pool = new ObservedPool({ connectionString: database.url });
afterAll(() => pool.end());
const newDriver = useDrivers(() => ({ pool, retention: '60s' }));

let driver: PostgresLockDriver;
beforeEach(async () => {
  driver = newDriver();
  await driver.connect();
  await database.query('TRUNCATE distributed_lock');
  pool.names();
});

const OWNER = 'a:1#1';

/** Takes locks, and gives them back. */
async function use(prefix: string, size: number): Promise<void> {
  const keys = Array.from({ length: size }, (_, i) => `${prefix}:${i}`);
  await Promise.all(keys.map((key) => driver.acquire({ key, owner: OWNER, ttl: 60_000 })));
  await Promise.all(keys.map((key) => driver.release({ key, owner: OWNER })));
}

/** Makes the locks of a prefix look as if so many seconds had passed since they were used. */
const age = (prefix: string, seconds: number): Promise<unknown> =>
  database.query(
    `UPDATE distributed_lock SET last = last - $2::bigint, expires = expires - sign(expires)::bigint * $2::bigint
     WHERE starts_with(key, $1)`,
    [prefix, seconds * 1_000_000],
  );

const countOf = async (prefix: string): Promise<number> => {
  const text = `SELECT count(*)::int AS n FROM distributed_lock WHERE starts_with(key, $1)`;
  return (await database.query(text, [prefix]))[0]?.['n'] as number;
};

describe('locks that were free for the retention', () => {
  it('are forgotten while others come, and nothing else is', async () => {
    await use('old', 20);
    await use('young', 20);
    await use('expired', 20);
    await driver.acquire({ key: 'held', owner: OWNER, ttl: 3_600_000 });
    await driver.acquire({ key: 'kept', owner: OWNER, ttl: 3_600_000 });
    await driver.release({ key: 'kept', owner: OWNER, retainFor: 3_600_000 });
    await age('old', 61);
    await age('young', 30);
    await database.query(
      `UPDATE distributed_lock SET owner = 'x', expires = -expires WHERE key = 'expired:1'`,
    );
    await age('expired:1', 61);
    await database.query(
      `UPDATE distributed_lock SET last = 1 WHERE key IN ('held', 'kept', 'young:1')`,
    );
    await use('new', 500);
    await expect.poll(() => countOf('old')).toBe(0);
    expect(await countOf('young')).toBe(20);
    expect(await countOf('expired')).toBe(9);
    expect(await countOf('held')).toBe(1);
    expect(await countOf('kept')).toBe(1);
    expect(await countOf('new')).toBe(500);
  });

  it('are not looked for where no new ones come, and never by the statement that acquires', async () => {
    await use('few', 300);
    expect(pool.names()).not.toContain('lock-purge');
    await use('few', 300);
    expect(pool.names()).not.toContain('lock-purge');
    await use('more', 300);
    await expect.poll(() => pool.names()).toContain('lock-purge');
    expect(pool.sent.filter(({ text }) => /INSERT.*DELETE/s.test(text))).toEqual([]);
  });

  it('are forgotten slice by slice, so that the table stays bounded', async () => {
    for (let round = 0; round < 8; round++) {
      await use(`one-off ${round}`, 1000);
      await age('one-off', 61);
    }
    await use('last', 2000);
    await expect.poll(() => countOf('one-off')).toBeLessThan(4000);
  });

  it('are left alone while somebody has locked their row', async () => {
    await use('old', 3);
    await age('old', 61);
    const other = new Client({ connectionString: database.url });
    await other.connect();
    await other.query('BEGIN');
    await other.query(`SELECT FROM distributed_lock WHERE key = 'old:1' FOR UPDATE`);
    await use('new', 500);
    await expect.poll(() => countOf('old')).toBe(1);
    await other.end();
    expect(await driver.acquire({ key: 'old:1', owner: OWNER, ttl: 1000 })).toHaveProperty(
      'firstToken',
    );
  });
});
