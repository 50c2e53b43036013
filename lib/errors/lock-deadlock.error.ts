import { LockError } from './lock.error.js';

/** The caller holds the lock already and would wait for itself. */
export class LockDeadlockError extends LockError {
  readonly code = 'LOCK_DEADLOCK';
  readonly statusCode = 500;
}
