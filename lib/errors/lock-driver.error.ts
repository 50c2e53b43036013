import { LockError } from './lock.error.js';

/** The backend failed or did not answer; what it said is the `cause`. The work was not run. */
export class LockDriverError extends LockError {
  readonly code = 'LOCK_DRIVER';
  readonly statusCode = 503;
}
