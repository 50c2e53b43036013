import { formatMs, nodeOf } from './format.js';
import { LockError, type LockErrorDetails } from './lock.error.js';

/** What a {@link LockTimeoutError} knows of the lock that was busy. */
export interface LockTimeoutDetails extends LockErrorDetails {
  readonly keys: readonly string[];
  /** The key that was busy, where several were asked for. */
  readonly busyKey?: string;
  readonly owner?: string;
  readonly waited: number;
  readonly retryAfter?: number;
}

/** The lock was busy for all of `wait`. The work was not run. */
export class LockTimeoutError extends LockError {
  readonly code = 'LOCK_TIMEOUT';
  readonly statusCode = 423;
  /** Who holds the lock, where that is known: `<node>#<random>`. */
  readonly owner: string | undefined;
  /** For how many milliseconds the caller waited. */
  readonly waited: number;
  /** After how many milliseconds it makes sense to try again, where that is known. */
  readonly retryAfter: number | undefined;

  constructor(details: LockTimeoutDetails) {
    const key = details.busyKey ?? details.keys.join(', ');
    const holder = details.owner ? `held by ${nodeOf(details.owner)}` : 'busy';
    super(`${key} is ${holder} (waited ${formatMs(details.waited)})`, details);
    this.owner = details.owner;
    this.waited = details.waited;
    this.retryAfter = details.retryAfter;
  }
}
