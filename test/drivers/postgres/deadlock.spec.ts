import { afterAll, describe, expect, it } from 'vitest';
import type { PostgresLockDriver } from '../../../lib/drivers/postgres/index.js';
import { ObservedPool } from '../../support/postgres/observed-pool.js';
import { usePostgres } from '../../support/postgres/use-postgres.js';
import { useDrivers } from '../../support/postgres/use-drivers.js';

const STATEMENTS = 10_000;
/** Seconds on a machine that has little else to do. */
const PATIENCE = 300_000;
const KEYS = 40;

/** Different ones in any order. */
const someKeys = (round: number): string[] =>
  Array.from({ length: KEYS }, (_, i) => ({ key: `${round}:${i}`, order: Math.random() }))
    .toSorted((a, b) => a.order - b.order)
    .slice(0, KEYS / 2)
    .map(({ key }) => key);

describe('statements of several rows', () => {
  const database = usePostgres();
  const pool = new ObservedPool({ connectionString: database.url });
  afterAll(() => pool.end());
  const newDriver = useDrivers(() => ({ pool, poolSize: 2, notify: false }));

  const failures: unknown[] = [];
  let statements = 0;
  let owners = 0;

  /** Takes what it gets, renews it all, and gives some of it back; the keys are new every now and then. */
  async function work(driver: PostgresLockDriver): Promise<void> {
    while (statements < STATEMENTS && failures.length === 0) {
      const owner = `o#${owners++}`;
      const keys = someKeys(Math.floor(statements / 50));
      await Promise.all(keys.map((key) => driver.acquire({ key, owner, ttl: 30 })));
      const other = someKeys(Math.floor(statements / 50));
      await Promise.all([
        driver.renew(other.map((key) => ({ key, owner, ttl: 30 }))),
        ...keys.map((key) => driver.acquire({ key, owner, ttl: 30, wantFor: 20 })),
      ]);
      await Promise.all(keys.map((key) => driver.release({ key, owner })));
      statements += pool.names().length;
    }
  }

  it(
    `never wait for each other in a circle: ${STATEMENTS} on 6 connections`,
    async () => {
      const drivers = [newDriver(), newDriver(), newDriver()];
      await Promise.all(drivers.map((driver) => driver.connect()));
      const workers = drivers.map((driver) =>
        work(driver).catch((error: unknown) => void failures.push(error)),
      );
      await Promise.all(workers);
      expect(failures).toEqual([]);
      expect(pool.opened).toBe(6);
    },
    PATIENCE,
  );
});
