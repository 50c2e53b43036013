import { setTimeout as sleep } from 'node:timers/promises';
import type { LockDriver } from '../../../lib/interfaces/lock-driver.interface.js';

async function later<T>(ask: () => T): Promise<Awaited<T>> {
  await sleep(Math.random() * 4);
  const answer = await ask();
  await sleep(Math.random() * 4);
  return answer;
}

/** The driver as it looks over a network: every answer takes a while, and there are no notices. */
export function remote(driver: LockDriver): LockDriver {
  return {
    name: 'remote',
    connect: () => later(() => undefined),
    acquire: (request) => later(() => driver.acquire(request)),
    renew: (leases) => later(() => driver.renew(leases)),
    release: (lease) => later(() => driver.release(lease)),
    inspect: (key) => later(() => driver.inspect(key)),
    list: (request) => later(() => driver.list(request)),
    forceRelease: (key) => later(() => driver.forceRelease(key)),
    admitToken: driver.admitToken && ((request) => later(() => driver.admitToken!(request))),
    close: () => later(() => undefined),
  };
}
