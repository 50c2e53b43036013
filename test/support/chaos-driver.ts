import type { MemoryLockDriver } from '../../lib/drivers/memory/memory-lock.driver.js';
import type {
  AcquireRequest,
  Denial,
  Grant,
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
import type { ProcessClock } from './process-clock.js';
import type { Random } from './random.js';

/** How badly a {@link ChaosDriver} behaves. */
export interface ChaosOptions {
  /** Answers come at once, without promises, and nothing else goes wrong. */
  readonly sync: boolean;
  /** The longest way to the backend, and back, in milliseconds. */
  readonly latency: number;
  /** The part of the commands that fail, hang, or are carried out twice or too late. */
  faults: number;
  readonly notices: boolean;
  /** The part of the notices that get lost. */
  readonly lostNotices: number;
  /** The backend tells nothing that it need not tell. */
  readonly vague: boolean;
}

/** Looks at everything that is asked of the backend, when it is asked. */
export interface DriverWatch {
  acquiring(request: AcquireRequest): void;
  renewing(request: RenewRequest): void;
  releasing(request: ReleaseRequest): void;
}

/** One process's way to a backend that it shares with others: slow, lossy, and given to answering twice or not at all. */
export class ChaosDriver implements LockDriver {
  readonly name = 'chaos';
  listeners = 0;
  onReleased: ((key: string, listener: () => void) => Unsubscribe) | undefined;

  constructor(
    private readonly backend: MemoryLockDriver,
    private readonly world: FakeClock,
    private readonly process: ProcessClock,
    private readonly random: Random,
    private readonly options: ChaosOptions,
    private readonly watch: DriverWatch,
  ) {
    if (options.notices) {
      this.onReleased = (key, listener) => this.#subscribe(key, listener);
    }
  }

  acquire(request: AcquireRequest): MaybePromise<Grant | Denial> {
    this.watch.acquiring(request);
    return this.#send(() => {
      const answer = this.backend.acquire(request);
      return this.options.vague && !('firstToken' in answer) ? {} : answer;
    });
  }

  renew(leases: readonly RenewRequest[]): MaybePromise<readonly RenewResult[]> {
    leases.forEach((lease) => this.watch.renewing(lease));
    return this.#send(() => this.backend.renew(leases));
  }

  release(lease: ReleaseRequest): MaybePromise<ReleaseResult> {
    this.watch.releasing(lease);
    return this.#send(() => {
      const { released, wantedFor } = this.backend.release(lease);
      return this.options.vague ? { released } : { released, wantedFor };
    });
  }

  inspect(key: string): LockRecord | null {
    return this.backend.inspect(key);
  }

  list(): readonly LockRecord[] {
    return this.backend.list();
  }

  forceRelease(key: string): boolean {
    return this.backend.forceRelease(key);
  }

  #subscribe(key: string, listener: () => void): Unsubscribe {
    this.listeners++;
    let live = true;
    const hear = (): void => {
      if (live) {
        listener();
      }
    };
    const unsubscribe = this.backend.onReleased(key, () => {
      if (this.options.sync) {
        hear();
      } else if (!this.random.chance(this.options.lostNotices)) {
        this.#later(() => this.process.whenRunning(hear));
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

  #send<T>(apply: () => T): MaybePromise<T> {
    if (this.options.sync) {
      return apply();
    }
    if (!this.random.chance(this.options.faults)) {
      return new Promise((resolve) => this.#later(() => this.#answer(resolve, apply())));
    }
    if (this.random.chance(0.1)) {
      throw new Error('not connected');
    }
    return new Promise((resolve, reject) => this.#goWrong(apply, resolve, reject));
  }

  #goWrong<T>(apply: () => T, resolve: (value: T) => void, reject: (error: Error) => void): void {
    const error = new Error('connection lost');
    switch (this.random.int(0, 5)) {
      case 0: // Never sent.
        return this.#later(() => this.process.whenRunning(() => reject(error)));
      case 1: // Carried out, but the connection broke before the answer.
        return this.#later(() => {
          apply();
          this.#later(() => this.process.whenRunning(() => reject(error)));
        });
      case 2: // Carried out long after the connection broke.
        this.#later(() => this.process.whenRunning(() => reject(error)));
        return this.#later(apply, 20);
      case 3: // No answer, ever.
        return this.#later(apply, 10);
      case 4: // Sent twice by the client, which takes the second answer.
        return this.#later(() => {
          apply();
          this.#later(() => this.#answer(resolve, apply()), 5);
        });
      default: // Very late.
        return this.#later(() => this.#later(() => this.#answer(resolve, apply()), 15), 15);
    }
  }

  #answer<T>(resolve: (value: T) => void, value: T): void {
    this.#later(() => this.process.whenRunning(() => resolve(value)));
  }

  #later(callback: () => void, times = 1): void {
    const ms = this.random.next() * this.options.latency * times;
    this.world.setTimeout(callback, ms);
  }
}
