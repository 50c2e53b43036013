import 'reflect-metadata';
import type { CampaignOptions } from '../interfaces/leader-election.interface.js';

/** On a method: what it does in elections. */
const ROLES_METADATA = 'nestjs-distributed-lock:leader-roles';

/** What a method does in an election: it runs on the leader only, or when this process becomes it or is it no more. */
export interface LeaderRole {
  readonly kind: 'only' | 'elected' | 'deposed';
  /** What the leader is elected for. */
  readonly name: string;
  /** The named instance whose locks the election stands on. */
  readonly service: string;
  readonly options: CampaignOptions;
  /** Decorator, class and method, for messages. */
  readonly where: string;
}

/** The roles of a method, as its decorators have written them down. */
export function leaderRolesOf(method: Function): readonly LeaderRole[] {
  return (Reflect.getMetadata(ROLES_METADATA, method) as readonly LeaderRole[] | undefined) ?? [];
}

/** Writes down one more role of a method. */
export function addLeaderRole(method: Function, role: LeaderRole): void {
  Reflect.defineMetadata(ROLES_METADATA, [...leaderRolesOf(method), role], method);
}
