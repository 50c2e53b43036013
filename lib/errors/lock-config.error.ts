import { LockError } from './lock.error.js';

/** A mistake in the set-up or in an option, told at the earliest moment. */
export class LockConfigError extends LockError {
  readonly code = 'LOCK_CONFIG';
  readonly statusCode = 500;
}
