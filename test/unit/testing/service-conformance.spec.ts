import { describe, expect, it } from 'vitest';
import { MemoryLockDriver } from '../../../lib/drivers/memory/memory-lock.driver.js';
import type { LockDriver } from '../../../lib/interfaces/lock-driver.interface.js';
import { describeLockService } from '../../../lib/testing/service-conformance.js';
import { broken, DEFECTS } from './broken-drivers.js';
import { remote } from './remote-driver.js';
import { failuresOf } from './run-suite.js';

const check = (driver: LockDriver, timeout?: number): Promise<string[]> =>
  failuresOf((test) =>
    describeLockService(test, { name: driver.name, create: () => driver, timeout }),
  );

describe('the service conformance suite', { timeout: 60_000 }, () => {
  it('finds no fault with a driver that answers late and gives no notices', async () => {
    expect(await check(remote(new MemoryLockDriver()))).toEqual([]);
  });

  it('notices a driver that does not exclude', async () => {
    const [, defect] = DEFECTS['grants to everybody'] ?? [];
    const failures = await check(broken(defect ?? (() => ({}))), 1000);
    expect(failures).toContain(
      'contention > lets one in at a time, each with a larger fencing token',
    );
  });

  it('notices a driver that gives no new tokens to a leader', async () => {
    const [, defect] = DEFECTS['gives a renewal no tokens'] ?? [];
    const failures = await check(broken(defect ?? (() => ({}))), 3000);
    expect(failures).toContain(
      'leader election > raises the token of a term, by renewals that keep the lock',
    );
  });
});
