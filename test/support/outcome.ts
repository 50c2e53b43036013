/** What has become of a promise so far. */
export class Outcome<T> {
  settled = false;
  value: T | undefined;
  error: Error | undefined;

  constructor(promise: PromiseLike<T>) {
    promise.then(
      (value) => this.#settle(value, undefined),
      (error: Error) => this.#settle(undefined, error),
    );
  }

  #settle(value: T | undefined, error: Error | undefined): void {
    this.settled = true;
    this.value = value;
    this.error = error;
  }

  /** What it was resolved with; throws what it was rejected with, or that there is nothing yet. */
  get(): T {
    if (this.error !== undefined) {
      throw this.error;
    }
    if (!this.settled) {
      throw new Error('Nothing has become of it yet');
    }
    return this.value as T;
  }
}

/** Follows a promise without waiting for it; its rejection counts as handled. */
export function watch<T>(promise: PromiseLike<T>): Outcome<T> {
  return new Outcome(promise);
}
