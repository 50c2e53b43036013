import {
  MemoryLockDriver,
  type MemoryLockDriverOptions,
} from '../drivers/memory/memory-lock.driver.js';
import type {
  AcquireRequest,
  Admission,
  AdmitRequest,
  Denial,
  Grant,
  ListRequest,
  LockDriver,
  LockRecord,
  MaybePromise,
  ReleaseRequest,
  ReleaseResult,
  RenewRequest,
  RenewResult,
  Unsubscribe,
} from '../interfaces/lock-driver.interface.js';
import { AnswerScript } from './answer-script.js';

/** A request that a {@link TestLockDriver} has got. */
export type DriverCall =
  | { readonly operation: 'acquire'; readonly request: AcquireRequest }
  | { readonly operation: 'renew'; readonly request: readonly RenewRequest[] }
  | { readonly operation: 'release'; readonly request: ReleaseRequest }
  | { readonly operation: 'admitToken'; readonly request: AdmitRequest };

/** What {@link TestLockDriver.failNext} shall fail, and how. */
export interface FailNextOptions {
  /** @default 'acquire' */
  readonly on?: DriverCall['operation'];
  /** @default a plain Error */
  readonly error?: Error;
}

/** The memory driver for tests of code that uses locks: what a test needs to go wrong goes wrong. */
export class TestLockDriver implements LockDriver {
  readonly name = 'test';
  readonly #memory: MemoryLockDriver;
  readonly #script = {
    acquire: new AnswerScript<Denial>(),
    renew: new AnswerScript<never>(),
    release: new AnswerScript<never>(),
    admitToken: new AnswerScript<never>(),
  };
  readonly #calls: DriverCall[] = [];

  constructor(options?: MemoryLockDriverOptions) {
    this.#memory = new MemoryLockDriver(options);
  }

  /** All requests since the start or the last {@link reset}, scripted ones included. */
  get calls(): readonly DriverCall[] {
    return this.#calls;
  }

  /** Denies the next `times` requests for a lock, whatever the key; Infinity until {@link reset}. */
  busyNext(times = 1, denial: Denial = {}): void {
    this.#script.acquire.answer(times, denial);
  }

  /** Rejects the next `times` requests, as a backend does that is down; Infinity until {@link reset}. */
  failNext(times = 1, options: FailNextOptions = {}): void {
    const { on = 'acquire', error = new Error(`The test makes ${on} fail`) } = options;
    this.#script[on].fail(times, error);
  }

  /**
   * Takes the lock from its holder, as if it had expired. The key is the driver's, with its namespace. The holder
   * notices by its next renewal, at the latest after a third of its ttl, or by `extend()`.
   */
  lose(key: string): void {
    if (!this.#memory.forceRelease(key)) {
      const held = this.#memory.list().map((record) => record.key);
      throw new Error(`Nobody holds ${key}, so it cannot be lost; held: ${held.join(', ') || '-'}`);
    }
  }

  /** Frees all locks, and forgets the tokens of the gate and what was scripted and recorded. */
  reset(): void {
    for (const { key } of this.#memory.list({ limit: Infinity })) {
      this.#memory.forceRelease(key);
    }
    this.#memory.forgetTokens();
    Object.values(this.#script).forEach((script) => script.clear());
    this.#calls.length = 0;
  }

  acquire(request: AcquireRequest): MaybePromise<Grant | Denial> {
    this.#calls.push({ operation: 'acquire', request });
    return this.#script.acquire.next() ?? this.#memory.acquire(request);
  }

  renew(request: readonly RenewRequest[]): MaybePromise<readonly RenewResult[]> {
    this.#calls.push({ operation: 'renew', request });
    return this.#script.renew.next() ?? this.#memory.renew(request);
  }

  release(request: ReleaseRequest): MaybePromise<ReleaseResult> {
    this.#calls.push({ operation: 'release', request });
    return this.#script.release.next() ?? this.#memory.release(request);
  }

  admitToken(request: AdmitRequest, transaction?: unknown): MaybePromise<Admission> {
    this.#calls.push({ operation: 'admitToken', request });
    return this.#script.admitToken.next() ?? this.#memory.admitToken(request, transaction);
  }

  onReleased(key: string, listener: () => void): Unsubscribe {
    return this.#memory.onReleased(key, listener);
  }

  inspect(key: string): LockRecord | null {
    return this.#memory.inspect(key);
  }

  list(request?: ListRequest): readonly LockRecord[] {
    return this.#memory.list(request);
  }

  forceRelease(key: string): boolean {
    return this.#memory.forceRelease(key);
  }
}
