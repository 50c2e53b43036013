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
  /** False is definite: the lock is not the owner's any more. */
  readonly renewed: boolean;
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
  /** How many others were told of the release, if the backend can tell: so many want their turn. */
  readonly wantedBy?: number;
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

/** A write to `resource` that carries a fencing token, and wants to be let through. */
export interface AdmitRequest {
  readonly resource: string;
  /** A safe integer. */
  readonly token: number;
  /** For how many milliseconds the resource remembers its newest token. */
  readonly retention: number;
}

/**
 * Why a token was refused: a newer one has been here (`older`); it is further ahead of the backend's clock than clocks
 * can be (`ahead`); or the resource remembers none, and the token is from a time that it would not remember (`forgotten`).
 */
export type RefusalRule = 'older' | 'ahead' | 'forgotten';

/** The answer to an {@link AdmitRequest}. */
export type Admission =
  | { readonly admitted: true }
  | {
      readonly admitted: false;
      readonly rule: RefusalRule;
      /** The newest token that the resource has seen, where it remembers one. */
      readonly newest?: number;
    };

/** An admission as a statement of the backend's language, to be run by the caller's own client in its own transaction. */
export interface AdmitStatement {
  readonly text: string;
  readonly values: readonly unknown[];
  /** Reads the rows that the statement gave: objects with the names of its columns. */
  readonly admission: (rows: readonly object[]) => Admission;
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

  /**
   * Creates or checks what the driver needs; idempotent, and safe from many processes at once. May resolve to warnings,
   * which are logged: what works, but not as well as its operator thinks.
   */
  connect?(): Promise<readonly string[] | void>;

  /** Grants the lock if it is free, expired, or the owner's already (then with its block's last token alone). */
  acquire(request: AcquireRequest): MaybePromise<Grant | Denial>;

  /**
   * Renews many leases in one go; one answer each, in the order of the requests. An error in place of an answer says
   * that this lease's renewal failed, so that the others' are not in doubt.
   */
  renew(leases: readonly RenewRequest[]): MaybePromise<readonly (RenewResult | Error)[]>;

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

  /**
   * The fencing gate: admits a token that is not older than the newest one that the resource has seen, and remembers it.
   * Where there is a record, every admission locks or writes it, so that two transactions cannot pass each other. A token
   * of more than a minute ahead of the backend's clock is refused; so is, where there is no record, one that is older
   * than the retention. A record is kept for the retention and that minute after its last admission.
   *
   * @param transaction the caller's, in what form the driver knows; without one the admission stands alone
   */
  admitToken?(request: AdmitRequest, transaction?: unknown): MaybePromise<Admission>;

  /** The same as a statement, for clients that the driver does not know. */
  admitStatement?(request: AdmitRequest): AdmitStatement;

  /** Closes what the driver itself opened; never the user's client. */
  close?(): Promise<void>;
}
