import type { Run } from './run.js';
import type { Turn } from './turn.js';
import type { Waiter } from './waiter-queue.js';

/**
 * Whether the next waiter may take over the lease with the next token of its block. It gets just what a lease of its
 * own would give it: the same ttl with most of it left, surely held, and nothing of the turn before it.
 */
export function mayHandOver(turn: Turn, next: Waiter, run: Run, now: number): boolean {
  const { lease } = turn;
  const { settings, claim } = next;
  return (
    settings.handover &&
    turn.settings.handover &&
    claim.since === null &&
    settings.ttl === lease.ttl &&
    settings.autoExtend === lease.autoExtend &&
    !lease.retimed &&
    lease.state === 'held' &&
    lease.tokensLeft > 0 &&
    lease.deadline - now >= lease.ttl / 2 &&
    turn.minHoldLeft(now) === undefined &&
    !run.isOver(now)
  );
}
