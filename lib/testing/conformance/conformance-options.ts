import type { LockDriver, MaybePromise } from '../../interfaces/lock-driver.interface.js';

/** How the suites get drivers to test, and what these cannot do. */
export interface ConformanceOptions {
  /** Names the suite. */
  readonly name: string;
  /** Makes a driver; all that it makes share one store. */
  readonly create: () => MaybePromise<LockDriver>;
  /**
   * Makes the driver of another process on the same store.
   * @default the driver that was created first
   */
  readonly second?: () => MaybePromise<LockDriver>;
  /**
   * Ends a driver.
   * @default closes it
   */
  readonly dispose?: (driver: LockDriver) => MaybePromise<unknown>;
  /**
   * The store's own time in microseconds.
   * @default the wall clock of this process
   */
  readonly serverTime?: (driver: LockDriver) => MaybePromise<number>;
  /**
   * By how many milliseconds `serverTime` may be off.
   * @default 0, and 1,000 where `serverTime` is not given
   */
  readonly clockTolerance?: number;
  /** Makes the store forget what it may forget of locks that are free, as its clean-up does in the long run. */
  readonly purge?: (driver: LockDriver) => MaybePromise<unknown>;
  /**
   * What the driver's denials cannot tell.
   * @default nothing
   */
  readonly omits?: readonly ('owner' | 'retryAfter')[];
  /**
   * Whether the driver has a fencing gate, that is `admitToken`.
   * @default true
   */
  readonly hasGate?: boolean;
  /**
   * Milliseconds that one test may take; half of them it waits for what it expects, and then it fails.
   * @default 60,000
   */
  readonly timeout?: number;
}
