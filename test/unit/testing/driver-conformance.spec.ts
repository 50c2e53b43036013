import { describe, expect, it } from 'vitest';
import type { LockDriver } from '../../../lib/interfaces/lock-driver.interface.js';
import { describeLockDriver } from '../../../lib/testing/driver-conformance.js';
import { broken, DEFECTS } from './broken-drivers.js';
import { remote } from './remote-driver.js';
import { failuresOf } from './run-suite.js';

const check = (driver: LockDriver, timeout?: number): Promise<string[]> =>
  failuresOf((test) =>
    describeLockDriver(test, { name: driver.name, create: () => driver, timeout }),
  );

describe('the driver conformance suite', { timeout: 60_000 }, () => {
  it('finds no fault with a driver that answers at once', async () => {
    expect(await check(broken(() => ({})))).toEqual([]);
  });

  it('finds no fault with a driver that answers late and gives no notices', async () => {
    expect(await check(remote(broken(() => ({}))))).toEqual([]);
  });

  it.concurrent.each(Object.entries(DEFECTS))(
    'notices a driver that %s',
    async (_, [noticedBy, defect]) => {
      const failures = await check(broken(defect), 1000);
      expect(failures.filter((name) => noticedBy.test(name))).not.toEqual([]);
    },
  );
});
