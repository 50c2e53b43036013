import type { RefusalRule } from '../interfaces/lock-driver.interface.js';
import { LockError, type LockErrorDetails } from './lock.error.js';

/** What each rule means, and what to do about it. */
const EXPLANATIONS: Record<RefusalRule, string> = {
  older:
    'a newer holder of its lock has been here (rule `older`). Who sent it has lost the lock: undo what it did, and start it anew under the lock',
  ahead:
    "it is more than a minute ahead of the backend's clock (rule `ahead`). It is forged, it is no token of a lock, or it is from a backend with another clock: look where it comes from",
  forgotten:
    'it is older than `fencing.retention`, and whether a newer one has been here is not remembered any more (rule `forgotten`). Start the work anew under the lock; if locks are held for so long, raise `fencing.retention`',
};

/** What a {@link StaleFencingTokenError} knows. */
export interface StaleFencingTokenDetails extends Omit<LockErrorDetails, 'keys'> {
  /** What was to be written to, with the namespace. */
  readonly resource: string;
  /** The token that was refused. */
  readonly token: bigint;
  /** The newest token that the resource has seen, where it remembers one. */
  readonly newest?: number | undefined;
  readonly rule: RefusalRule;
}

/** The fencing gate refused a token. What it would have let through must not be written. */
export class StaleFencingTokenError extends LockError {
  readonly code = 'STALE_FENCING_TOKEN';
  readonly statusCode = 409;
  /** What was to be written to, with the namespace. */
  readonly resource: string;
  /** The token that was refused, a decimal string so that the error can be logged. */
  readonly token: string;
  /** The newest token that the resource has seen, where it remembers one. */
  readonly newest: string | undefined;
  /** Why it was refused. */
  readonly rule: RefusalRule;

  constructor({ resource, token, newest, rule, cause }: StaleFencingTokenDetails) {
    const seen = newest === undefined ? '' : `, whose newest is ${newest}`;
    super(`The fencing token ${token} is refused for ${resource}${seen}: ${EXPLANATIONS[rule]}`, {
      keys: [resource],
      cause,
    });
    this.resource = resource;
    this.token = String(token);
    this.newest = newest === undefined ? undefined : String(newest);
    this.rule = rule;
  }
}
