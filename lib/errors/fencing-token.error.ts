import { LockError } from './lock.error.js';

/** A request has no fencing token, or one that none can be. */
export class FencingTokenError extends LockError {
  readonly code = 'FENCING_TOKEN';
  readonly statusCode = 400;
}
