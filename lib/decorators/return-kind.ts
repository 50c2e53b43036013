import { isAsyncFunction, isGeneratorFunction } from 'node:util/types';
import { LockConfigError } from '../errors/lock-config.error.js';

/** What a locked method returns: decided before it is called, for it is not called without the lock. */
export type ReturnKind = 'promise' | 'observable';

/** Whether a value can be subscribed to as Nest does it; any copy of RxJS will do. */
export function isObservable(value: unknown): value is { subscribe: unknown; pipe: unknown } {
  const candidate = value as { subscribe?: unknown; pipe?: unknown } | null | undefined;
  return typeof candidate?.subscribe === 'function' && typeof candidate.pipe === 'function';
}

/** The first that tells: the option, the form of the function, the type that TypeScript has written down. */
export function returnKindOf(
  method: Function,
  returnType: unknown,
  option: ReturnKind | undefined,
  where: string,
): ReturnKind {
  if (isGeneratorFunction(method)) {
    throw new LockConfigError(
      `${where} is a generator, and cannot be locked: nobody knows when it ends`,
    );
  }
  if (option !== undefined) {
    return option;
  }
  if (isAsyncFunction(method)) {
    return 'promise';
  }
  return typeof returnType === 'function' && isObservable(returnType.prototype)
    ? 'observable'
    : 'promise';
}
