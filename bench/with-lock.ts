import { LockService, MemoryLockDriver } from 'nestjs-distributed-lock';
import { alternate, type Standing } from './support/alternate.js';
import { BUILDS } from './support/async-mutex.js';
import type { Bench, Finding } from './support/bench.js';
import { compare, ratio } from './support/compare.js';
import { alone, looping, onceEach, type Way } from './support/ways.js';

const CASES: readonly { readonly what: string; readonly atLeast: number; readonly way: Way }[] = [
  { what: 'withLock', atLeast: 0.9, way: alone },
  { what: 'withLock, 100 waiters, once each', atLeast: 1.4, way: onceEach },
  { what: 'withLock, 100 waiters, looping', atLeast: 1.4, way: looping },
];

/**
 * `withLock` opens a frame, and from then on AsyncLocalStorage slows every await of the process, those of async-mutex
 * too. The control tells by how much: async-mutex before the first frame, and after it.
 */
export const withLock: Bench = {
  name: 'with-lock',
  about: 'withLock(), of the runExclusive() of async-mutex; AsyncLocalStorage on for both',
  run: async () => {
    const before = await mutexAlone();
    await openFrame();
    const after = await mutexAlone();
    const findings: Finding[] = [];
    for (const [i, { what, atLeast, way }] of CASES.entries()) {
      findings.push(
        ...(await compare({
          what,
          atLeast,
          ours: (locks) => way(() => locks.withLock('bench', work)),
          theirs: (mutex) => way(() => mutex.runExclusive(work)),
        })),
        ratio(
          '  control: async-mutex with ALS on, of itself with ALS off',
          after[i] as Standing,
          before[i] as Standing,
        ),
      );
    }
    return findings;
  },
};

async function work(): Promise<void> {}

function mutexAlone(): Promise<readonly Standing[]> {
  const [{ name, Mutex }] = BUILDS;
  return alternate(
    CASES.map(({ way }) => {
      const mutex = new Mutex();
      return { name, run: way(() => mutex.runExclusive(work)) };
    }),
  );
}

async function openFrame(): Promise<void> {
  await new LockService(new MemoryLockDriver()).withLock('bench', work);
}
