import { LockDriverError } from '../../errors/lock-driver.error.js';

/** What a timer can be set for, in milliseconds; a longer time would be none at all. */
export const LONGEST_TIMER = 2 ** 31 - 1;

/** Settles like the promise, or rejects when so many milliseconds are over: a client may wait for a server for ever. */
export function within<T>(
  ms: number,
  what: string,
  promise: Promise<T>,
  tooLate?: (value: T) => unknown,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => {
        reject(new LockDriverError(`Redis has not answered ${what} within ${ms} ms`));
        promise.then(tooLate, () => undefined);
      },
      Math.min(ms, LONGEST_TIMER),
    );
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
