import type { LockError } from '../errors/lock.error.js';

interface LockEventBase {
  readonly key: string;
}

/** The lock was granted, after `waited` milliseconds. */
export interface LockAcquiredEvent extends LockEventBase {
  readonly type: 'acquired';
  readonly owner: string;
  readonly fencingToken: string;
  readonly waited: number;
}

/** Somebody began to wait for the lock. */
export interface LockWaitingEvent extends LockEventBase {
  readonly type: 'waiting';
  /** How many wait for this key in this process now. */
  readonly waiters: number;
}

/** Somebody gave up waiting, or did not wait at all. */
export interface LockBusyEvent extends LockEventBase {
  readonly type: 'busy';
  readonly waited: number;
  /** Who holds it, where that is known. */
  readonly owner?: string;
}

/** The backend confirmed the lease once more. */
export interface LockRenewedEvent extends LockEventBase {
  readonly type: 'renewed';
  readonly owner: string;
}

/** A renewal or a release brought no answer or an error; the lease stands until its deadline. */
export interface LockUnknownEvent extends LockEventBase {
  readonly type: 'unknown';
  readonly owner: string;
  readonly during: 'renew' | 'release';
  readonly cause: unknown;
  /** Milliseconds until the lock is lost unless a renewal gets through; 0 for a release. */
  readonly remaining: number;
}

/** The lock is not ours any more although its holder has not released it. */
export interface LockLostEvent extends LockEventBase {
  readonly type: 'lost';
  readonly owner: string;
  readonly error: LockError;
}

/** The lock was given back, or handed to the next waiter of this process. */
export interface LockReleasedEvent extends LockEventBase {
  readonly type: 'released';
  readonly owner: string;
  /** Milliseconds for which it was held. */
  readonly held: number;
  /** Whether the next waiter of this process got it without a round trip. */
  readonly handedOver: boolean;
}

/** The lock has been held for ten times its ttl; told once per holder. */
export interface LockHeldLongEvent extends LockEventBase {
  readonly type: 'heldLong';
  readonly owner: string;
  readonly held: number;
}

/** What happens to locks in this process, as `LockService.events$` tells it. */
export type LockEvent =
  | LockAcquiredEvent
  | LockWaitingEvent
  | LockBusyEvent
  | LockRenewedEvent
  | LockUnknownEvent
  | LockLostEvent
  | LockReleasedEvent
  | LockHeldLongEvent;
