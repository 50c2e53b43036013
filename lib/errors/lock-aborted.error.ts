import { LockError } from './lock.error.js';

/** The caller's own signal aborted while it waited; its reason is the `cause`. The work was not run. */
export class LockAbortedError extends LockError {
  readonly code = 'LOCK_ABORTED';
  readonly statusCode = 499;
}
