/** What every error of this package can tell. */
export interface LockErrorDetails {
  /** The keys it is about; empty where it is about none. */
  readonly keys?: readonly string[];
  readonly cause?: unknown;
}

/** On what a transport throws instead of a lock error: the lock error it stands for. */
export const STANDS_FOR: unique symbol = Symbol('nestjs-distributed-lock:stands-for');

/**
 * The root of all errors of this package. `status`, `statusCode` and `expose` are what Nest's default exception
 * handler looks at, so that even an unmapped error answers with the right HTTP status.
 */
export abstract class LockError extends Error {
  /** A stable name for programs: it never changes, the message may. */
  abstract readonly code: string;
  /** The HTTP status that fits. */
  abstract readonly statusCode: number;
  readonly keys: readonly string[];

  constructor(message: string, details: LockErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.keys = details.keys ?? [];
  }

  /** What a transport throws instead of a lock error counts as that error, so that a filter for it is called. */
  static override [Symbol.hasInstance](
    this: abstract new (...args: never[]) => unknown,
    value: unknown,
  ): boolean {
    const original =
      (value as { [STANDS_FOR]?: unknown } | null | undefined)?.[STANDS_FOR] ?? value;
    return Function.prototype[Symbol.hasInstance].call(this, original);
  }

  /** The first of `keys`. */
  get key(): string | undefined {
    return this.keys[0];
  }

  get status(): number {
    return this.statusCode;
  }

  /** Whether the message may be shown to an HTTP caller; keys can be private, so it may not. */
  get expose(): boolean {
    return false;
  }
}
