import { DEFAULT_LOCK_NAME } from '../distributed-lock.constants.js';

/** How an instance is called in messages and in the log: `LeaderElection`, `LeaderElection(billing)`. */
export function leaderElectionName(name: string): string {
  return name === DEFAULT_LOCK_NAME ? 'LeaderElection' : `LeaderElection(${name})`;
}
