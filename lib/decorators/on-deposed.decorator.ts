import type { DeposedChange, LeaderOptions } from '../interfaces/leader-election.interface.js';
import { declareLeaderRole } from './declare-leader-role.js';

/**
 * Calls a method when this process is the leader no more, with the reason. Who has resigned gives the seat to the next
 * leader when the method has ended; who has lost it cannot keep the next one waiting.
 */
export function OnDeposed(
  name: string,
  options: LeaderOptions = {},
): <Method extends (change: DeposedChange) => unknown>(
  target: object,
  property: string | symbol,
  descriptor: TypedPropertyDescriptor<Method>,
) => void {
  return declareLeaderRole('deposed', '@OnDeposed', name, options);
}
