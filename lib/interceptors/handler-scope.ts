import type { ExecutionContext } from '@nestjs/common';
import type { LockErrorMapper } from '../interfaces/distributed-lock-module-options.interface.js';
import { KeptLocks } from './kept-locks.js';
import { needsValue } from './response.js';

/** Why nobody waits any longer. */
const ENDED = 'the handler has ended';

/**
 * One call of a handler, from the outermost interceptor of its controller inwards: the locks that its own method takes
 * are kept here until the chain has ended and the method's body has settled.
 */
export class HandlerScope {
  readonly kept = new KeptLocks();
  /** As the service says whose lock the method wants; undefined if it was not called. */
  mapErrors: boolean | LockErrorMapper | undefined;
  /** Given up at the end: what the handler leaves behind in its async context must not keep the request alive. */
  #context: ExecutionContext | undefined;
  readonly #ids: ReadonlySet<symbol>;
  readonly #ending = new AbortController();
  /** Calls of the method, and subscriptions, that have not given their lock back, or wait for it. */
  #visits = 0;
  /** Promises that are still to settle, and observables that are subscribed to. */
  #bodies = 0;
  #isStream = false;
  #idle: (() => void) | undefined;
  #closed: Promise<void> | undefined;

  constructor(context: ExecutionContext, ids: readonly symbol[]) {
    this.#context = context;
    this.#ids = new Set(ids);
  }

  /** Whether it is the scope of this call of a handler. */
  isOpenFor(context: ExecutionContext): boolean {
    return this.#context === context && !this.ending.aborted;
  }

  /** Whether it keeps this lock: one of the handler's own, while the chain has not ended. */
  keeps(id: symbol): boolean {
    return this.#ids.has(id) && !this.ending.aborted;
  }

  /** Aborts when the chain has ended. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  /** Whether an empty observable would be an error, as Nest waits for the last value. */
  get needsValue(): boolean {
    return this.#context !== undefined && needsValue(this.#context);
  }

  /** Whether a body runs on, whatever became of the chain around it. */
  get hasBodies(): boolean {
    return this.#bodies > 0;
  }

  /** Whether the method gives an observable, so that its values cannot wait for the end. */
  get isStream(): boolean {
    return this.#isStream;
  }

  becomeStream(): void {
    this.#isStream = true;
  }

  enter(): void {
    this.#visits++;
  }

  leave(): void {
    this.#visits--;
    if (this.#visits === 0) {
      this.#idle?.();
    }
  }

  /** Counts a body as running until the result is called. */
  enterBody(): () => void {
    let isRunning = true;
    this.#bodies++;
    return () => {
      this.#bodies -= isRunning ? 1 : 0;
      isRunning = false;
    };
  }

  /** The chain has ended: whoever still waits for a lock need not wait any longer. */
  end(): void {
    // A constant: an error made here would keep the whole chain alive by its stack.
    this.#ending.abort(ENDED);
  }

  /** Gives back what is kept as soon as no call runs any more. */
  close(): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  async #close(): Promise<void> {
    this.end();
    this.#context = undefined;
    if (this.#visits > 0) {
      await new Promise<void>((resolve) => (this.#idle = resolve));
    }
    await this.kept.release();
  }
}
