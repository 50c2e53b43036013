import { beforeEach, describe, expect, it } from 'vitest';
import type { PostgresLockDriver } from '../../../lib/drivers/postgres/index.js';
import { Meddler } from '../../support/postgres/meddler.js';
import { usePool, usePostgres } from '../../support/postgres/use-postgres.js';
import { useDrivers } from '../../support/postgres/use-drivers.js';

const HOUR = 3_600_000;

interface Lease {
  readonly key: string;
  readonly owner: string;
  readonly ttl: number;
}

const database = usePostgres();
const pool = usePool(database.url);
const newDriver = useDrivers(() => ({ pool }));

let driver: PostgresLockDriver;
beforeEach(async () => {
  driver = newDriver();
  await driver.connect();
});

let count = 0;
async function held(size: number): Promise<Lease[]> {
  const leases = Array.from({ length: size }, () => {
    count++;
    return { key: `key:${count}`, owner: `a:1#${count}`, ttl: HOUR };
  });
  await Promise.all(leases.map((lease) => driver.acquire(lease)));
  return leases;
}

const lockRowsOf = (leases: readonly Lease[]): Promise<Meddler> =>
  Meddler.lock(
    database.url,
    leases.map(({ key }) => key),
  );

const HELD_BY_HAND = {
  status: 'rejected',
  reason: expect.objectContaining({
    code: 'LOCK_DRIVER',
    message: expect.stringMatching(/holds the row/),
  }),
};

describe('a row that somebody keeps locked', () => {
  it('fails its own request alone', async () => {
    const leases = await held(3);
    const [locked] = leases as [Lease];
    const meddler = await lockRowsOf([locked]);
    const [renewal, ...others] = await driver.renew(leases);
    expect(renewal).toMatchObject(HELD_BY_HAND.reason);
    expect(others).toEqual([{ renewed: true }, { renewed: true }]);
    const released = { status: 'fulfilled', value: { released: true } };
    expect(await Promise.allSettled(leases.map((lease) => driver.release(lease)))).toEqual([
      HELD_BY_HAND,
      released,
      released,
    ]);
    await meddler[Symbol.asyncDispose]();
    expect(await driver.release(locked)).toEqual({ released: true });
  });

  it('fails its request if there is no other, and says why', async () => {
    const [locked] = (await held(1)) as [Lease];
    await using _ = await lockRowsOf([locked]);
    const failing = [driver.renew([locked]), driver.release(locked)];
    for (const outcome of await Promise.allSettled(failing)) {
      expect(outcome).toMatchObject(HELD_BY_HAND);
      expect(outcome).toHaveProperty('reason.cause.code', '55P03');
    }
  });

  it('does not hold up renewals, however many such rows are to be released', async () => {
    const [locked, others] = [await held(8), await held(8)];
    await using _ = await lockRowsOf(locked);
    const releases = Promise.allSettled(locked.map((lease) => driver.release(lease)));
    const renewals = await driver.renew(others);
    expect(renewals).toEqual(others.map(() => ({ renewed: true })));
    expect(await releases).toEqual(locked.map(() => HELD_BY_HAND));
  });

  it('tells the waiters of the other locks that were released with it', async () => {
    const [locked, wanted] = (await held(2)) as [Lease, Lease];
    await driver.acquire({ ...wanted, owner: 'b:1#1', wantFor: HOUR });
    let heard = 0;
    driver.onReleased?.(wanted.key, () => heard++);
    await expect.poll(() => heard).toBe(1);
    await using _ = await lockRowsOf([locked]);
    const [, release] = await Promise.allSettled(
      [locked, wanted].map((lease) => driver.release(lease)),
    );
    expect(release).toHaveProperty('value.wantedFor', expect.any(Number));
    await expect.poll(() => heard).toBe(2);
  });
});
