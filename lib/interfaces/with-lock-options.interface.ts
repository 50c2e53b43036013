import type { LockOptions } from './lock-options.interface.js';
import type { CheckLockedMethod } from './with-lock-checks.types.js';

/** A template, several, or a function of the method's arguments that gives one key or several. */
export type WithLockKeys =
  string | readonly string[] | ((...args: never[]) => string | readonly string[]);

/** Anything at all; written so that the compiler takes `'busy'` for that word, and not for any string. */
export type WithLockAnswer = '' | 0 | 0n | boolean | {} | null | undefined | void;

/** Options of `@WithLock`. */
export interface WithLockOptions extends LockOptions {
  /**
   * What a busy lock does: an error, nothing (the method gives undefined, an observable is empty), or what this function
   * of the method's arguments gives. Unless `wait` is given too, `'skip'` and a function do not wait.
   * @default 'throw'
   */
  readonly onBusy?: 'throw' | 'skip' | ((...args: never[]) => WithLockAnswer);
  /**
   * What to answer, as a function of the method's arguments, when the backend is down.
   * @default an error: without a lock the method does not run
   */
  readonly onUnavailable?: (...args: never[]) => WithLockAnswer;
  /**
   * What the method returns, where neither its type nor its form tells.
   * @default 'observable' if its return type says so, else 'promise'
   */
  readonly returns?: 'promise' | 'observable';
  /**
   * The named instance that keeps the lock.
   * @default 'default'
   */
  readonly service?: string;
}

/** What `@WithLock` returns. */
export interface WithLockDecorator<Keys, Options> {
  <Method>(
    target: object,
    name: string | symbol,
    descriptor: TypedPropertyDescriptor<Method> & CheckLockedMethod<Keys, Options, Method>,
  ): void;
  /** Lets it stand in `applyDecorators`; on a class it is refused when that is loaded. */
  (target: Function): void;
}
