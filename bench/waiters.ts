import type { Bench } from './support/bench.js';
import { compare, type Comparison } from './support/compare.js';
import { looping, onceEach, type Way } from './support/ways.js';

/** Nobody opens a frame in this process, so AsyncLocalStorage slows neither side. */
export const waiters: Bench = {
  name: 'waiters',
  about: '100 waiters on one key, of async-mutex; no AsyncLocalStorage',
  run: async () => [
    ...(await compare(comparison('100 waiters, once each', onceEach))),
    ...(await compare(comparison('100 waiters, looping', looping))),
  ],
};

function comparison(what: string, way: Way): Comparison {
  return {
    what,
    atLeast: 1.7,
    ours: (locks) =>
      way(async () => {
        const lock = await locks.acquire('bench');
        await lock.release();
      }),
    theirs: (mutex) =>
      way(async () => {
        const release = await mutex.acquire();
        release();
      }),
  };
}
