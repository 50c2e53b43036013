import { LockError } from './lock.error.js';

/** So many wait for the key in this process that `maxWaiters` refuses one more. */
export class LockQueueFullError extends LockError {
  readonly code = 'LOCK_QUEUE_FULL';
  readonly statusCode = 503;
}
