/** What a driver may answer: at once, or later. The engine pays for a promise only where there is one. */
export type MaybePromise<T> = T | PromiseLike<T>;

/** Ends a subscription; calling it twice does nothing. */
export type Unsubscribe = () => void;

/** A request for the lock `key`, made by one contender. */
export interface AcquireRequest {
  readonly key: string;
  /** `<node>#<random>`, fresh for every contention and kept through its tries. */
  readonly owner: string;
  /** How long the lease lasts by the backend's clock, in milliseconds. */
  readonly ttl: number;
  /**
   * How many fencing tokens are asked for.
   * @default 1
   */
  readonly tokens?: number;
  /** When denied, somebody comes back within this many milliseconds: mark the lock as wanted for so long. */
  readonly wantFor?: number;
}

/** The lock is the owner's; its fencing tokens are `firstToken` to `firstToken + tokens - 1`. */
export interface Grant {
  /** A whole number of microseconds of the backend's clock, always a safe integer. */
  readonly firstToken: number;
  /** How many consecutive tokens were granted: at least 1, at most what was asked for. */
  readonly tokens: number;
}

/** The lock is somebody else's. */
export interface Denial {
  /** Milliseconds until the present lease ends, if the backend can tell. */
  readonly retryAfter?: number;
  /** Who holds it, if the backend can tell. */
  readonly owner?: string;
}

/** A request to go on holding a lock for `ttl` milliseconds from now. */
export interface RenewRequest {
  readonly key: string;
  readonly owner: string;
  readonly ttl: number;
  /** Allows the lease to end earlier than it would have; without it a renewal never shortens. */
  readonly shorten?: boolean;
  /** Asks for this many new fencing tokens in the same statement. */
  readonly bumpToken?: number;
}

/** The answer to one {@link RenewRequest}; a renewal that asked for tokens also carries the new block. */
export interface RenewResult {
  /**
   * False is definite: the lock is not the owner's any more. It is missing where this one's fate is unknown, while that
   * of others in the batch is known.
   */
  readonly renewed?: boolean;
  readonly firstToken?: number;
  readonly tokens?: number;
}

/** A request to give a lock back. */
export interface ReleaseRequest {
  readonly key: string;
  readonly owner: string;
  /** Keeps the key taken, under no owner, for so many milliseconds more. */
  readonly retainFor?: number;
}

/** The answer to a {@link ReleaseRequest}. */
export interface ReleaseResult {
  /** False is definite: the lock was not the owner's. */
  readonly released: boolean;
  /** Somebody else's mark says that they want the lock within so many milliseconds. */
  readonly wantedFor?: number;
}

/** A lock that is held now, as the backend sees it. */
export interface LockRecord {
  readonly key: string;
  /** Empty while the key is only kept taken by `minHold`. */
  readonly owner: string;
  /** The last token of the lease's block, a decimal string so that it can be logged and sent. */
  readonly fencingToken: string;
  /** Milliseconds until the lease ends unless it is renewed. */
  readonly remaining: number;
}

/** Which locks {@link LockDriver.list} shall tell of. */
export interface ListRequest {
  /**
   * Only keys that begin with this.
   * @default ''
   */
  readonly prefix?: string;
  /**
   * At most so many.
   * @default 100
   */
  readonly limit?: number;
}

/**
 * A backend that grants leases. Time is the backend's own clock, fencing tokens follow the rule below, and an
 * answer that never comes is the engine's problem, not the driver's.
 *
 * Tokens: with `now` in whole microseconds and `last` of the lock's record, a lock without a record grants the one
 * token `now`; otherwise `end = max(now, last + 1)` and the grant is the `min(asked, end - last)` tokens that end at
 * `end`. So tokens of one key strictly increase, and a block never runs ahead of the clock.
 */
export interface LockDriver {
  /** Names the backend in messages: `memory`, `redis`. */
  readonly name: string;

  /** Creates or checks what the driver needs; idempotent, and safe from many processes at once. */
  connect?(): Promise<void>;

  /** Grants the lock if it is free, expired, or the owner's already (then with its block's last token alone). */
  acquire(request: AcquireRequest): MaybePromise<Grant | Denial>;

  /** Renews many leases in one go; one answer each, in the order of the requests. */
  renew(leases: readonly RenewRequest[]): MaybePromise<readonly RenewResult[]>;

  /** Frees the lock if it is still the owner's. */
  release(lease: ReleaseRequest): MaybePromise<ReleaseResult>;

  /**
   * Calls the listener when `key` was released, and whenever a subscription that was not there before has become
   * live. It is a hint: it may be lost, and it may come for nothing.
   */
  onReleased?(key: string, listener: () => void): Unsubscribe;

  /** The lock's record, or null when it is free. */
  inspect(key: string): MaybePromise<LockRecord | null>;

  /** The locks held now, in no particular order. */
  list(request?: ListRequest): MaybePromise<readonly LockRecord[]>;

  /** Frees the lock whoever holds it; false when nobody did. */
  forceRelease(key: string): MaybePromise<boolean>;

  /** Whether `token` is not older than the newest one that `resource` has seen. */
  admitToken?(resource: string, token: number, transaction?: unknown): Promise<boolean>;

  /** Closes what the driver itself opened; never the user's client. */
  close?(): Promise<void>;
}
