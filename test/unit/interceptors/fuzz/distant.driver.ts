import type {
  AcquireRequest,
  Denial,
  Grant,
  MaybePromise,
  ReleaseRequest,
  ReleaseResult,
} from '../../../../lib/interfaces/lock-driver.interface.js';
import { TestLockDriver } from '../../../../lib/testing/test-lock.driver.js';

/** Answers after a while, or at once where that is 0. */
export class DistantDriver extends TestLockDriver {
  constructor(private readonly distance: () => number) {
    super();
  }

  override acquire(request: AcquireRequest): MaybePromise<Grant | Denial> {
    return this.after(() => super.acquire(request));
  }

  override release(request: ReleaseRequest): MaybePromise<ReleaseResult> {
    return this.after(() => super.release(request));
  }

  private after<T>(answer: () => MaybePromise<T>): MaybePromise<T> {
    const ms = this.distance();
    return ms === 0
      ? answer()
      : new Promise<void>((resolve) => setTimeout(resolve, ms)).then(answer);
  }
}
