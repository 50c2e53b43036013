import type { Bench } from './support/bench.js';
import { compare } from './support/compare.js';

/** Nobody opens a frame in this process, so AsyncLocalStorage slows neither side. */
export const acquireRelease: Bench = {
  name: 'acquire-release',
  about: 'acquire() and release() of a free lock, of async-mutex; no AsyncLocalStorage',
  run: () =>
    compare({
      what: 'acquire + release',
      atLeast: 1.2,
      ours: (locks) => async (operations) => {
        for (let i = 0; i < operations; i++) {
          const lock = await locks.acquire('bench');
          await lock.release();
        }
      },
      theirs: (mutex) => async (operations) => {
        for (let i = 0; i < operations; i++) {
          const release = await mutex.acquire();
          release();
        }
      },
    }),
};
