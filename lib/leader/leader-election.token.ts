import type { InjectionToken } from '@nestjs/common';
import { DEFAULT_LOCK_NAME } from '../distributed-lock.constants.js';
import { text } from '../options/text-parsers.js';
import { LeaderElection } from './leader-election.js';
import { leaderElectionName } from './leader-election.name.js';

/** What the election of this instance is injected by: the class for the default one, else a text that is readable in Nest's errors. */
export function getLeaderElectionToken(
  name: string = DEFAULT_LOCK_NAME,
): InjectionToken<LeaderElection> {
  return name === DEFAULT_LOCK_NAME ? LeaderElection : leaderElectionName(text(name, 'name'));
}
