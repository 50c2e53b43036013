import { assertInnermostHeld, currentLock } from '../core/frames.js';
import { LockConfigError } from '../errors/lock-config.error.js';
import type { FencingTokenSource } from '../interfaces/fencing.interface.js';
import type { LockHandle } from '../interfaces/lock-handle.interface.js';
import { kindOf } from '../key/kind-of.js';
import { FENCING_TOKEN_HEADER } from './fencing-token.header.js';

/** The headers of a request that carries a fencing token. */
export type FencingHeaders = Readonly<Record<typeof FENCING_TOKEN_HEADER, string>>;

/**
 * The headers by which a request carries the fencing token of a lock or of a leadership; of the lock that the caller
 * runs under where none is given. Throws `LockLostError` if it is not held any more.
 */
export function fencingHeaders(...given: [source?: FencingTokenSource]): FencingHeaders {
  // A source that is missing by mistake must not send the token of another lock.
  const source = given.length === 0 ? lockOfCaller() : given[0];
  (source as Partial<LockHandle> | null | undefined)?.assertHeld?.();
  return { [FENCING_TOKEN_HEADER]: String(tokenOf(source)) };
}

function tokenOf(source: Partial<FencingTokenSource> | null | undefined): bigint {
  const token = source?.fencingToken;
  if (typeof token !== 'bigint') {
    throw new LockConfigError(
      `fencingHeaders() was given ${kindOf(source)}, which has no fencing token: give it the handle of a lock, or a leadership`,
    );
  }
  return token;
}

/** The innermost lock: where that is lost, one further out is another resource's. */
function lockOfCaller(): FencingTokenSource {
  assertInnermostHeld();
  const lock = currentLock();
  if (lock === undefined) {
    throw new LockConfigError(
      'fencingHeaders() was called under no lock: call it in a method with @WithLock or in the work of withLock(), or give ' +
        'it the handle of a lock, or a leadership',
    );
  }
  return lock;
}
