import { entranceFor } from '../interceptors/visit.js';
import { invokeAsHandler } from './invoke-as-handler.js';
import { invokeObservable } from './invoke-observable.js';
import { invokePromise } from './invoke-promise.js';
import type { MethodLock } from './method-lock.js';
import type { ReturnKind } from './return-kind.js';

/** A method of a class, whatever it takes and gives. */
export type AnyMethod = (this: unknown, ...args: unknown[]) => unknown;

/** One call of a locked method. */
export interface Call {
  readonly lock: MethodLock;
  readonly instance: object;
  readonly args: readonly unknown[];
  /** Calls the method itself. */
  readonly proceed: () => unknown;
}

/** A method that takes the lock, runs the original under it, and gives it back. */
export function lockedMethod(original: AnyMethod, lock: MethodLock, kind: ReturnKind): AnyMethod {
  return function (this: unknown, ...args: unknown[]): unknown {
    const proceed = (): unknown => original.apply(this, args);
    const call: Call = { lock, instance: this as object, args, proceed };
    if (kind === 'observable') {
      return invokeObservable(call);
    }
    const entrance = entranceFor(lock.id);
    const visit = entrance?.enter();
    return entrance === undefined || visit === undefined
      ? invokePromise(call)
      : invokeAsHandler(call, visit, entrance);
  };
}
