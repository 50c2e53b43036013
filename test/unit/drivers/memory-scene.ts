import { MemoryLockDriver } from '../../../lib/drivers/memory/memory-lock.driver.js';
import type {
  AcquireRequest,
  Denial,
  Grant,
  ReleaseRequest,
  ReleaseResult,
  RenewRequest,
  RenewResult,
} from '../../../lib/interfaces/lock-driver.interface.js';

export const SECOND = 1000;
export const START = 1_800_000_000_000;
export const START_TOKEN = START * 1000;

/** A memory driver, a clock that stands still until it is told to go on, and the lock `k` with a ttl of 10 s. */
export class MemoryScene {
  /** Microseconds that have passed. */
  time = 0;
  readonly driver = new MemoryLockDriver({ now: () => START + this.time / 1000 });

  pass(us: number): void {
    this.time += us;
  }

  passMs(ms: number): void {
    this.pass(ms * 1000);
  }

  acquire(owner: string, options: Partial<AcquireRequest> = {}): Grant | Denial {
    return this.driver.acquire({ key: 'k', owner, ttl: 10 * SECOND, ...options });
  }

  renew(owner: string, options: Partial<RenewRequest> = {}): RenewResult | undefined {
    return this.driver.renew([{ key: 'k', owner, ttl: 10 * SECOND, ...options }])[0];
  }

  release(owner: string, options: Partial<ReleaseRequest> = {}): ReleaseResult {
    return this.driver.release({ key: 'k', owner, ...options });
  }
}
