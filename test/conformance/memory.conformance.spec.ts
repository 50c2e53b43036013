import * as vitest from 'vitest';
import { MemoryLockDriver } from '../../lib/drivers/memory/memory-lock.driver.js';
import type { ConformanceOptions } from '../../lib/testing/conformance/conformance-options.js';
import { describeLockDriver } from '../../lib/testing/driver-conformance.js';
import { describeLockService } from '../../lib/testing/service-conformance.js';

const HOUR = 3_600_000;
let ahead = 0;
const now = (): number => performance.timeOrigin + performance.now() + ahead;
const driver = new MemoryLockDriver({ now });

const memory: ConformanceOptions = {
  name: 'memory',
  create: () => driver,
  serverTime: () => Math.floor(now() * 1000),
  purge: () => {
    ahead += HOUR;
    for (let count = 4 * driver.size; count > 0; count--) {
      driver.acquire({ key: `purge:${ahead}:${count}`, owner: 'purge', ttl: 1 });
    }
  },
};

describeLockDriver(vitest, memory);
describeLockService(vitest, memory);
