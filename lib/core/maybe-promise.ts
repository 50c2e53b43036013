import type { MaybePromise } from '../interfaces/lock-driver.interface.js';

/** Whether an answer is still to come. */
export function isPending<T>(answer: MaybePromise<T>): answer is PromiseLike<T> {
  return typeof (answer as PromiseLike<T> | null)?.then === 'function';
}

/** Whether a lock was given back; a promise only where the backend answers later. */
export type Answer = boolean | Promise<boolean>;

/** The same resolved promise for everybody, so that an answer known at once costs no allocation. */
export const TRUE: Promise<boolean> = Promise.resolve(true);
export const FALSE: Promise<boolean> = Promise.resolve(false);
