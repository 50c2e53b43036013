import { formatKeys } from './format.js';
import { LockError, type LockErrorDetails } from './lock.error.js';

/** Why a lock was lost. */
export type LockLostReason =
  'expired' | 'taken' | 'maxHold' | 'forced' | 'stopped' | 'released' | 'resigned' | 'notElected';

const EXPLANATIONS: Record<LockLostReason, string> = {
  expired:
    'no renewal was confirmed before its ttl ran out (backend unreachable, or this process was paused)',
  taken:
    'the backend says that it is not ours any more (expired, force-released, or its data was lost)',
  maxHold: 'it was held for longer than maxHold',
  forced: 'it was force-released in this process',
  stopped: 'the application shut down and drainTimeout was over',
  released: 'it has been released already',
  resigned: 'this process has resigned from its leadership',
  notElected: 'this process is not the leader',
};

/** What a {@link LockLostError} knows. */
export interface LockLostDetails extends LockErrorDetails {
  readonly keys: readonly string[];
  readonly reason: LockLostReason;
}

/** The lock was lost while it was in use. The work may have run, in part or to its end. */
export class LockLostError extends LockError {
  readonly code = 'LOCK_LOST';
  readonly statusCode = 500;
  readonly reason: LockLostReason;

  constructor(details: LockLostDetails) {
    super(`The lock ${formatKeys(details.keys)} is lost: ${EXPLANATIONS[details.reason]}`, details);
    this.reason = details.reason;
  }
}
