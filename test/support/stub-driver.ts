import { MemoryLockDriver } from '../../lib/drivers/memory/memory-lock.driver.js';
import type {
  AcquireRequest,
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
} from '../../lib/interfaces/lock-driver.interface.js';
import type { FakeClock } from './fake-clock.js';

/** How a driver treats an operation: at once, by a promise, when the test says so, never, or not at all. */
export type Manner = 'sync' | 'async' | 'manual' | 'hang' | 'reject' | 'throw';

type Operation = 'acquire' | 'renew' | 'release';

/** A command that waits for the test to say what becomes of it. */
export interface Command<T = unknown> {
  readonly operation: Operation;
  readonly request: unknown;
  /** The backend carries it out; the answer does not reach us yet. */
  apply(): T;
  /** Carries it out unless that was done, and answers. */
  answer(value?: T): void;
  fail(error?: Error): void;
}

/** One thing that was asked of the driver. */
export interface Call {
  readonly operation: Operation;
  readonly request: AcquireRequest | readonly RenewRequest[] | ReleaseRequest;
  readonly at: number;
}

/** A backend in memory, on the test's clock, that can be slow, broken or silent. */
export class StubDriver implements LockDriver {
  readonly name = 'stub';
  readonly backend: MemoryLockDriver;
  readonly manner: Record<Operation, Manner>;
  /** Commands in manner `manual`, oldest first. */
  readonly commands: Command[] = [];
  calls: Call[] = [];
  /** How many listen for releases. */
  listeners = 0;
  /** Whether notices of a release get lost. */
  deaf = false;
  onReleased: ((key: string, listener: () => void) => Unsubscribe) | undefined;

  constructor(
    private readonly clock: FakeClock,
    manner: Manner = 'sync',
    { notices = true, backend }: { notices?: boolean; backend?: MemoryLockDriver } = {},
  ) {
    this.backend = backend ?? new MemoryLockDriver({ now: () => this.clock.now() });
    this.manner = { acquire: manner, renew: manner, release: manner };
    this.onReleased = notices ? (key, listener) => this.#subscribe(key, listener) : undefined;
  }

  acquire(request: AcquireRequest): MaybePromise<Grant | Denial> {
    return this.#do('acquire', request, () => this.backend.acquire(request));
  }

  renew(leases: readonly RenewRequest[]): MaybePromise<readonly RenewResult[]> {
    return this.#do('renew', leases, () => this.backend.renew(leases));
  }

  release(lease: ReleaseRequest): MaybePromise<ReleaseResult> {
    return this.#do('release', lease, () => this.backend.release(lease));
  }

  inspect(key: string): LockRecord | null {
    return this.backend.inspect(key);
  }

  list(request?: ListRequest): readonly LockRecord[] {
    return this.backend.list(request);
  }

  forceRelease(key: string): boolean {
    return this.backend.forceRelease(key);
  }

  /** How often an operation was asked for. */
  count(operation: Operation): number {
    return this.calls.filter((call) => call.operation === operation).length;
  }

  /** Takes the oldest waiting command of that kind. */
  next<T = unknown>(operation: Operation): Command<T> {
    const index = this.commands.findIndex((command) => command.operation === operation);
    if (index < 0) {
      throw new Error(`No ${operation} is waiting`);
    }
    return this.commands.splice(index, 1)[0] as Command<T>;
  }

  #subscribe(key: string, listener: () => void): Unsubscribe {
    let live = true;
    this.listeners++;
    const unsubscribe = this.backend.onReleased(key, () => {
      if (!this.deaf) {
        listener();
      }
    });
    return () => {
      if (live) {
        live = false;
        this.listeners--;
        unsubscribe();
      }
    };
  }

  #do<T>(operation: Operation, request: Call['request'], apply: () => T): MaybePromise<T> {
    this.calls.push({ operation, request, at: this.clock.now() });
    switch (this.manner[operation]) {
      case 'sync':
        return apply();
      case 'async':
        return Promise.resolve().then(apply);
      case 'hang':
        return new Promise<T>(() => undefined);
      case 'reject':
        return Promise.reject(new Error(`${operation} failed`));
      case 'throw':
        throw new Error(`${operation} failed`);
      case 'manual':
        return new Promise<T>((resolve, reject) => {
          let result: { value: T } | undefined;
          const once = (): T => (result ??= { value: apply() }).value;
          this.commands.push({
            operation,
            request,
            apply: once,
            answer: (value) => resolve((value as T | undefined) ?? once()),
            fail: (error = new Error(`${operation} failed`)) => reject(error),
          });
        });
      default:
        throw new Error(`No such manner: ${String(this.manner[operation])}`);
    }
  }
}
