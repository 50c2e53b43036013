import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { PostgresLockDriver } from '../../../lib/drivers/postgres/index.js';
import { usePool, usePostgres } from '../../support/postgres/use-postgres.js';
import { useDrivers } from '../../support/postgres/use-drivers.js';

const CLOCK = '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint';
const HOUR = 3_600_000;

const database = usePostgres();
const pool = usePool(database.url);
const newDriver = useDrivers(() => ({ pool }));

let driver: PostgresLockDriver;
let other: Client;
let count = 0;
beforeEach(async () => {
  driver = newDriver();
  await driver.connect();
  other = new Client({ connectionString: database.url });
  await other.connect();
  await other.query('BEGIN');
});
afterEach(() => other.end());

const newLease = (): { key: string; owner: string; ttl: number } => {
  count++;
  return { key: `key:${count}`, owner: `a:1#${count}`, ttl: HOUR };
};

const isWaiting = async (): Promise<unknown> =>
  (
    await database.query(
      `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    )
  )[0]?.['n'];

/** Changes the row in a transaction that ends while the statement waits for it; gives the time of its end. */
async function changeMeanwhile(key: string, change: string, begin: () => void): Promise<number> {
  await other.query(`UPDATE distributed_lock SET ${change} WHERE key = $1`, [key]);
  begin();
  await expect.poll(isWaiting).toBe(1);
  const { rows } = await other.query<{ now: string }>(`SELECT ${CLOCK}::text AS now`);
  await other.query('COMMIT');
  return Number(rows[0]?.now);
}

describe('a statement that had to wait for its row', () => {
  it.each([1, 2])('grants by the clock after that (requests: %i)', async (size) => {
    const leases = Array.from({ length: size }, newLease);
    const [lease] = leases as [ReturnType<typeof newLease>];
    await driver.acquire(lease);
    await driver.release(lease);
    let answers: Promise<unknown[]> | undefined;
    const freeAt = await changeMeanwhile(lease.key, 'n = n', () => {
      answers = Promise.all(leases.map((each) => driver.acquire({ ...each, tokens: 10 })));
    });
    const [grant] = (await answers) as { firstToken: number; tokens: number }[];
    expect((grant?.firstToken ?? 0) + (grant?.tokens ?? 0)).toBeGreaterThan(freeAt);
  });

  it('denies what was taken meanwhile, and grants what became free', async () => {
    const [taken, freed] = [newLease(), newLease()];
    await driver.acquire(taken);
    await driver.release(taken);
    await driver.acquire(freed);
    let answers: Promise<unknown[]> | undefined;
    await other.query(`UPDATE distributed_lock SET owner = NULL, expires = -1 WHERE key = $1`, [
      freed.key,
    ]);
    await changeMeanwhile(taken.key, `owner = 'x', expires = ${CLOCK} + 60000000`, () => {
      const asked = [taken, freed].map((lease) => ({ ...lease, owner: 'b:1#1', wantFor: 1000 }));
      answers = Promise.all(asked.map((each) => driver.acquire(each)));
    });
    expect(await answers).toEqual([
      { owner: 'x', retryAfter: expect.any(Number) },
      { firstToken: expect.any(Number), tokens: 1 },
    ]);
  });

  it('renews on top of what was changed meanwhile', async () => {
    const lease = newLease();
    await driver.acquire(lease);
    let answers: Promise<unknown> | undefined;
    const last = 4_000_000_000_000_000;
    await changeMeanwhile(lease.key, `last = ${last}, wanted = ${last}`, () => {
      answers = driver.renew([{ ...lease, ttl: 2 * HOUR, bumpToken: 5 }]);
    });
    expect(await answers).toEqual([{ renewed: true, firstToken: last + 1, tokens: 1 }]);
    expect((await driver.inspect(lease.key))?.remaining).toBeGreaterThan(HOUR);
    expect((await driver.release(lease)).wantedFor).toBeGreaterThan(HOUR);
  });

  it.each([1, 2])(
    'changes nothing of what is somebody else’s by now (requests: %i)',
    async (size) => {
      const leases = Array.from({ length: size }, newLease);
      const [lease] = leases as [ReturnType<typeof newLease>];
      await Promise.all(leases.map((each) => driver.acquire(each)));
      let answers: Promise<unknown[]> | undefined;
      await changeMeanwhile(lease.key, `owner = 'x'`, () => {
        answers = Promise.all([
          driver.renew([lease]),
          ...leases.map((each) => driver.release(each)),
        ]);
      });
      const [renewals, released] = (await answers) ?? [];
      expect(renewals).toEqual([{ renewed: false }]);
      expect(released).toEqual({ released: false });
      expect((await driver.inspect(lease.key))?.owner).toBe('x');
    },
  );
});
