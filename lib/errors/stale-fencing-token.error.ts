import { LockError } from './lock.error.js';

/** The fencing token is not good for this resource: a newer holder has been here, or it is not believable. */
export class StaleFencingTokenError extends LockError {
  readonly code = 'STALE_FENCING_TOKEN';
  readonly statusCode = 409;
}
