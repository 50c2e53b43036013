import type { Owners } from './owners.js';

/** The pauses between tries, in milliseconds. */
export interface RetrySettings {
  readonly min: number;
  readonly max: number;
  readonly factor: number;
  readonly jitter: number;
}

/** What makes of a lock a term of office: a name of its own, a steady heartbeat, and a token that rises meanwhile. */
export interface TermSettings {
  /** Names the contender, instead of the engine's node. */
  readonly owners: Owners;
  /** Milliseconds between two renewals. */
  readonly heartbeat: number;
  /** Milliseconds after which a renewal brings a new fencing token. */
  readonly tokenPeriod: number;
}

/** Options of one acquisition after they were checked: durations are milliseconds, and nothing is missing. */
export interface LockSettings {
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

/** How one acquisition is to be made. */
export interface AcquireSettings extends LockSettings {
  /** Set by an election, for which the lock is a term of office. */
  readonly term?: TermSettings;
}
