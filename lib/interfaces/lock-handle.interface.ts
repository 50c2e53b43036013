import type { Duration } from './lock-options.interface.js';

/** A lock that is held: by whom, with which fencing token, and for how long it certainly still is. */
export interface LockHandle extends AsyncDisposable {
  /** The keys that are held, with the namespace, in the order they were taken. */
  readonly keys: readonly string[];
  /** Who holds the lock at the backend: `<node>#<random>`. */
  readonly owner: string;
  /** Larger than that of every earlier holder of the key. With several keys it throws: use `fencingTokens`. */
  readonly fencingToken: bigint;
  /** One token per key, in the order of `keys`. */
  readonly fencingTokens: readonly bigint[];
  /** Aborts when the lock is lost; its reason is the `LockLostError`. A release does not abort it. */
  readonly signal: AbortSignal;
  /** Whether the lock is certainly still held, by the clock. */
  readonly held: boolean;
  /** Milliseconds for which it certainly is, unless it is renewed; 0 when it is not held. */
  readonly remaining: number;
  /** Throws `LockLostError` unless the lock is certainly still held, by the clock. */
  assertHeld(): void;
  /** Renews the lease now, with a new `ttl` if one is given. */
  extend(ttl?: Duration): Promise<void>;
  /**
   * Gives the lock back; calling it again does nothing. It never throws for what the backend did: false means that
   * the lock was not ours any more, or that we do not know.
   */
  release(): Promise<boolean>;
  /** Tokens are strings here, so that logging a handle never throws. */
  toJSON(): LockHandleJson;
}

/** What a {@link LockHandle} looks like in JSON. */
export interface LockHandleJson {
  readonly keys: readonly string[];
  readonly owner: string;
  readonly fencingTokens: readonly string[];
  readonly held: boolean;
  readonly remaining: number;
}
