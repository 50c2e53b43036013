/** The pauses between tries, in milliseconds. */
export interface RetrySettings {
  readonly min: number;
  readonly max: number;
  readonly factor: number;
  readonly jitter: number;
}

/** Options of one acquisition after they were checked: durations are milliseconds, and nothing is missing. */
export interface AcquireSettings {
  readonly ttl: number;
  /** Infinity is allowed. */
  readonly wait: number;
  readonly autoExtend: boolean;
  readonly retry: RetrySettings;
  readonly reentrant: boolean;
  readonly minHold: number;
  /** Infinity for none. */
  readonly maxHold: number;
  /** Infinity for none. */
  readonly maxWaiters: number;
  readonly handover: boolean;
  readonly signal: AbortSignal | undefined;
}
