/** Milliseconds, or a string such as `'30s'`, `'5 minutes'`. */
export type Duration = number | string;

/** How the pauses between tries grow: `min * factor ** n`, at most `max`, each spread by `jitter`. */
export interface RetryOptions {
  /** @default '10ms' */
  readonly min?: Duration;
  /** @default '800ms' */
  readonly max?: Duration;
  /** @default 1.5 */
  readonly factor?: number;
  /**
   * Between 0 and 1: 0.2 spreads each pause by 20 % to either side.
   * @default 0.2
   */
  readonly jitter?: number;
}

/** Options of one acquisition; each has a module-wide default. */
export interface LockOptions {
  /**
   * How long the backend keeps the lock if this process dies. While the process lives it is renewed.
   * @default '30s'
   */
  readonly ttl?: Duration;
  /**
   * How long to wait for a busy lock; 0 tries once, Infinity never gives up.
   * @default '5s'
   */
  readonly wait?: Duration;
  /**
   * Renew the lease for as long as the lock is held.
   * @default true
   */
  readonly autoExtend?: boolean;
  /** The pauses between tries where no notice of a release comes. */
  readonly retry?: RetryOptions;
  /**
   * Let code that runs under the lock take it again, at no cost.
   * @default true
   */
  readonly reentrant?: boolean;
  /**
   * Keep the key taken for at least so long after it was acquired, even if it is released sooner.
   * @default 0
   */
  readonly minHold?: Duration;
  /**
   * Give the lock up for lost after so long.
   * @default none
   */
  readonly maxHold?: Duration;
  /**
   * Refuse with `LockQueueFullError` when so many wait for the key in this process already.
   * @default none
   */
  readonly maxWaiters?: number;
  /**
   * Let waiters of this process follow one another under one lease, without a round trip.
   * @default true
   */
  readonly handover?: boolean;
}

/** Options of one call. */
export interface AcquireOptions extends LockOptions {
  /** Stops waiting when it aborts; it does not release a lock that is held. */
  readonly signal?: AbortSignal;
}
