import type { UnknownPlaceholders } from '../key/key-template.types.js';
import type { LockOptions } from './lock-options.interface.js';

/** A template, several, or a function of the method's arguments that gives one key or several. */
export type WithLockKeys =
  string | readonly string[] | ((...args: never[]) => string | readonly string[]);

/** Options of `@WithLock`. */
export interface WithLockOptions extends LockOptions {
  /**
   * What a busy lock does: an error, nothing (the method gives undefined, an observable is empty), or what this function
   * of the method's arguments gives. Unless `wait` is given too, `'skip'` and a function do not wait.
   * @default 'throw'
   */
  readonly onBusy?: 'throw' | 'skip' | ((...args: never[]) => unknown);
  /**
   * What to answer, as a function of the method's arguments, when the backend is down.
   * @default an error: without a lock the method does not run
   */
  readonly onUnavailable?: (...args: never[]) => unknown;
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

/** Anything that looks like an RxJS observable, of whichever copy of RxJS. */
export interface ObservableLike {
  subscribe(...args: never[]): unknown;
  pipe(...args: never[]): unknown;
}

/** A mistake that the compiler tells: what is wrong is the name of the property it misses. */
type Mistake<Message extends string> = { readonly [M in Message]: never };

/** Whether a function of these parameters can be called with those arguments. */
type Takes<
  Parameters extends readonly unknown[],
  Args extends readonly unknown[],
> = number extends Parameters['length']
  ? Args extends Parameters
    ? true
    : false
  : Args extends readonly [...Parameters, ...unknown[]]
    ? true
    : false;

type CheckKeys<Keys, Args extends readonly unknown[]> = Keys extends (
  ...args: infer Parameters
) => unknown
  ? Takes<Parameters, Args> extends true
    ? unknown
    : Mistake<'the key function does not take the parameters of the method'>
  : [UnknownPlaceholders<Keys, Args>] extends [never]
    ? unknown
    : Mistake<`the method has no <${UnknownPlaceholders<Keys, Args> & string}>`>;

type CheckOnBusy<Options, Result> = Options extends { readonly onBusy: 'skip' }
  ? Result extends PromiseLike<infer Value>
    ? [undefined] extends [Value]
      ? unknown
      : [void] extends [Value]
        ? unknown
        : Mistake<'onBusy: "skip" needs a method that may return undefined'>
    : unknown
  : unknown;

/** What is wrong with a method for these keys and options; unknown if nothing is. */
export type CheckLockedMethod<Keys, Options, Method> = Method extends (
  ...args: infer Args
) => infer Result
  ? Result extends PromiseLike<unknown> | ObservableLike
    ? CheckKeys<Keys, Args> & CheckOnBusy<Options, Result>
    : Mistake<'the method must return a Promise or an Observable'>
  : Mistake<'only a method can be locked'>;

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
