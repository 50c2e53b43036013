import { setImmediate as turn } from 'node:timers/promises';
import type { Observable } from 'rxjs';
import type { LockServiceOptions } from '../../../lib/interfaces/distributed-lock-module-options.interface.js';
import { LockService } from '../../../lib/lock.service.js';
import { attachLocks } from '../../../lib/testing/attach-locks.js';
import { TestLockDriver } from '../../../lib/testing/test-lock.driver.js';

/** An object with locked methods, as Nest would have made it, and what is needed to look at its locks. */
export class Bench<T extends object> {
  readonly driver = new TestLockDriver();
  readonly locks: LockService;
  readonly object: T;

  constructor(type: new () => T, options: Partial<LockServiceOptions> = {}) {
    this.locks = new LockService({ driver: this.driver, wait: 1000, ...options });
    this.object = new type();
    attachLocks(this.object, this.locks);
  }

  /** The keys that are locked now, as the backend sees it. */
  get locked(): readonly string[] {
    return this.driver.list().map(({ key }) => key);
  }

  /** How often the backend was asked for a lock. */
  get asked(): number {
    return this.driver.calls.filter(({ operation }) => operation === 'acquire').length;
  }
}

/** What an observable has told so far: values as they are, then 'complete' or the error's code or message. */
export function listen(observable: Observable<unknown>): unknown[] {
  const told: unknown[] = [];
  observable.subscribe({
    next: (value) => told.push(value),
    error: (error: Error & { code?: string }) => told.push(error.code ?? error.message),
    complete: () => told.push('complete'),
  });
  return told;
}

/** Decorates a method by hand, so that no compiler has written down its types. */
export function decorate(
  prototype: object,
  name: string,
  ...decorators: ((target: object, name: string, descriptor: never) => unknown)[]
): void {
  const descriptor = Object.getOwnPropertyDescriptor(prototype, name)!;
  for (const decorator of decorators.toReversed()) {
    decorator(prototype, name, descriptor as never);
  }
  Object.defineProperty(prototype, name, descriptor);
}

/** The method of a class, to look at it and not to call it. */
export function methodOf(type: { readonly prototype: object }, name: string): Function {
  return Reflect.get(type.prototype, name) as Function;
}

/** What was thrown; fails if nothing was. */
export function errorOf(work: () => unknown): Error {
  try {
    work();
  } catch (error) {
    return error as Error;
  }
  throw new Error('Nothing was thrown');
}

/** Lets everything happen that needs no timer. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 5; i++) {
    await turn();
  }
}

/** Waits until it is so; a test that waits in vain fails by its time limit. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) {
    await turn();
  }
}
