import type { UnknownPlaceholders } from '../key/key-template.types.js';

/** Anything that looks like an RxJS observable, of whichever copy of RxJS. */
interface ObservableLike {
  subscribe(...args: never[]): unknown;
  pipe(...args: never[]): unknown;
}

/** What an observable emits. */
type Emitted<Source> = Source extends {
  subscribe(next?: ((value: infer Value) => void) | null, ...rest: never[]): unknown;
}
  ? Value
  : unknown;

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

/** Whether undefined will do where this is expected. */
type MayBeUndefined<Value> = [undefined] extends [Value]
  ? true
  : [void] extends [Value]
    ? true
    : false;

type CheckSkip<Options, Result> = Options extends { readonly onBusy: 'skip' }
  ? Result extends PromiseLike<infer Value>
    ? MayBeUndefined<Value> extends true
      ? unknown
      : Mistake<'onBusy: "skip" needs a method that may return undefined'>
    : unknown
  : unknown;

/** Whether a method with this result may give that answer: a promise its value, an observable a value, several or none. */
type Fits<Answer, Result> =
  Result extends PromiseLike<infer Value>
    ? [void] extends [Value]
      ? true
      : [Awaited<Answer>] extends [Value]
        ? true
        : false
    : [Answer extends ObservableLike ? Emitted<Answer> : Awaited<Answer>] extends [
          Emitted<Result> | undefined | void,
        ]
      ? true
      : false;

type CheckAnswer<
  Name extends string,
  Answer,
  Args extends readonly unknown[],
  Result,
> = Answer extends (...args: infer Parameters) => infer Given
  ? Takes<Parameters, Args> extends true
    ? true extends Fits<Given, Result>
      ? unknown
      : Mistake<`the ${Name} function does not give what the method returns`>
    : Mistake<`the ${Name} function does not take the parameters of the method`>
  : unknown;

type CheckOptions<Options, Args extends readonly unknown[], Result> = CheckSkip<Options, Result> &
  (Options extends { readonly onBusy: infer Answer }
    ? CheckAnswer<'onBusy', Answer, Args, Result>
    : unknown) &
  (Options extends { readonly onUnavailable: infer Answer }
    ? CheckAnswer<'onUnavailable', Answer, Args, Result>
    : unknown);

/** What is wrong with a method for these keys and options; unknown if nothing is. */
export type CheckLockedMethod<Keys, Options, Method> = Method extends (
  ...args: infer Args
) => infer Result
  ? Result extends PromiseLike<unknown> | ObservableLike
    ? CheckKeys<Keys, Args> & CheckOptions<Options, Args, Result>
    : Mistake<'the method must return a Promise or an Observable'>
  : Mistake<'only a method can be locked'>;

/** What is wrong with a method that runs on the leader only; unknown if nothing is. */
export type CheckLeaderMethod<Method> = Method extends (...args: never[]) => infer Result
  ? Result extends PromiseLike<infer Value>
    ? MayBeUndefined<Value> extends true
      ? unknown
      : Mistake<'@LeaderOnly needs a method that may return undefined'>
    : Result extends ObservableLike
      ? unknown
      : Mistake<'the method must return a Promise or an Observable'>
  : Mistake<'only a method can be reserved for the leader'>;
