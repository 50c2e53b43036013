import { LockService, lockKey, MemoryLockDriver } from 'nestjs-distributed-lock';
import type { Bench } from './support/bench.js';
import { heapUsed } from './support/heap.js';

const LEASES = 100_000;

/** What a lease costs with all that belongs to it: key, handle, line, turn, renewal and the driver's record. */
export const memory: Bench = {
  name: 'memory',
  about: `heap per held lease, ${LEASES.toLocaleString('en')} leases on distinct keys`,
  run: async () => {
    const locks = new LockService(new MemoryLockDriver());
    await hold(locks, 'warm-up', 1000);
    const before = heapUsed();
    const handles = await hold(locks, 'bench', LEASES);
    const bytes = (heapUsed() - before) / handles.length;
    return [
      {
        what: 'bytes per held lease',
        median: Math.round(bytes),
        unit: 'B',
        target: { bound: 'below', value: 1024 },
      },
    ];
  },
};

async function hold(locks: LockService, name: string, count: number): Promise<readonly unknown[]> {
  const handles: unknown[] = [];
  for (let i = 0; i < count; i++) {
    handles.push(await locks.acquire(lockKey`${name}:${i}`));
  }
  return handles;
}
