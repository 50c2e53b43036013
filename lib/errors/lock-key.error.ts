import { LockError } from './lock.error.js';

/** A key that cannot be locked: empty, not a string, or made from a missing value. */
export class LockKeyError extends LockError {
  readonly code = 'LOCK_KEY';
  readonly statusCode = 400;
}
