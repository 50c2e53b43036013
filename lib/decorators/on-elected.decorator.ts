import type { LeaderOptions, LeaderTerm } from '../interfaces/leader-election.interface.js';
import { declareLeaderRole } from './declare-leader-role.js';

/**
 * Calls a method when this process has become the leader, with the term. What it does is the leader's work: when the
 * process resigns, `term.signal` aborts and the next leader waits until the method has ended.
 */
export function OnElected(
  name: string,
  options: LeaderOptions = {},
): <Method extends (term: LeaderTerm) => unknown>(
  target: object,
  property: string | symbol,
  descriptor: TypedPropertyDescriptor<Method>,
) => void {
  return declareLeaderRole('elected', '@OnElected', name, options);
}
