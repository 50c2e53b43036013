import type { Lease } from './lease.js';
import type { Turn } from './turn.js';
import type { Waiter } from './waiter-queue.js';

/** What is looked at before the next waiter of this process gets the lease without asking the backend. */
export interface Handover {
  readonly turn: Turn;
  readonly lease: Lease;
  readonly next: Waiter;
  readonly now: number;
  /** When this process got hold of the key, and for how long it may keep it. */
  readonly runStartedAt: number;
  readonly maxTime: number;
}

/**
 * Whether the next waiter may take over the lease with the next token of its block. It gets just what a lease of its
 * own would give it: the same ttl with most of it left, surely held, and nothing of the turn before it.
 */
export function mayHandOver({ turn, lease, next, now, runStartedAt, maxTime }: Handover): boolean {
  const { settings, claim } = next;
  return (
    settings.handover &&
    turn.settings.handover &&
    claim.alone &&
    settings.ttl === lease.ttl &&
    settings.autoExtend === lease.autoExtend &&
    !lease.retimed &&
    lease.state === 'held' &&
    lease.tokensLeft > 0 &&
    lease.deadline - now >= lease.ttl / 2 &&
    now - turn.startedAt >= turn.settings.minHold &&
    now - runStartedAt < maxTime
  );
}
