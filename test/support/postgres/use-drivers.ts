import { afterEach } from 'vitest';
import {
  PostgresLockDriver,
  type PostgresLockDriverOptions,
} from '../../../lib/drivers/postgres/index.js';

/** Makes drivers that are closed after the test. */
export function useDrivers(
  common: () => PostgresLockDriverOptions,
): (options?: PostgresLockDriverOptions) => PostgresLockDriver {
  const drivers: PostgresLockDriver[] = [];
  afterEach(async () => {
    await Promise.all(drivers.splice(0).map((driver) => driver.close()));
  });
  return (options = {}) => {
    const driver = new PostgresLockDriver({ ...common(), ...options });
    drivers.push(driver);
    return driver;
  };
}
