import { Inject } from '@nestjs/common';
import { getLeaderElectionToken } from '../leader/leader-election.token.js';

/** Injects the election of this name, the default one without a name. */
export function InjectLeaderElection(name?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getLeaderElectionToken(name));
}
