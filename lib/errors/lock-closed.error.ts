import { LockError } from './lock.error.js';

/** The application is shutting down: no lock is granted any more. */
export class LockClosedError extends LockError {
  readonly code = 'LOCK_CLOSED';
  readonly statusCode = 503;
}
