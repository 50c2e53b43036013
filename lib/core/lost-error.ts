import { LockLostError } from '../errors/lock-lost.error.js';
import type { EngineHandle } from './lock-handle.js';

/** What to tell whoever worked under a lock that was lost, null if it was not; `error` is what the work ended with, if it failed. */
export function lostErrorOf(handle: EngineHandle, error?: unknown): LockLostError | null {
  const lost = handle.lostError();
  if (lost === null || error === undefined || error instanceof LockLostError) {
    return lost;
  }
  return new LockLostError({ keys: lost.keys, reason: lost.reason, cause: error });
}
