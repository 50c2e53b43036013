import { describe, expect, it } from 'vitest';
import { LockConfigError } from '../../../lib/errors/lock-config.error.js';
import type { CampaignOptions } from '../../../lib/interfaces/leader-election.interface.js';
import { declaredCampaigns } from '../../../lib/leader/declared-campaigns.js';
import type { LeaderRole } from '../../../lib/leader/leader-role.accessor.js';

const role = (where: string, name: string, options: CampaignOptions = {}): LeaderRole => ({
  kind: 'only',
  name,
  service: 'default',
  options,
  where: `@LeaderOnly of ${where}`,
});

describe('the campaigns that decorators declare', () => {
  it('are one for each name, with the options that any of them gives', () => {
    const campaigns = declaredCampaigns([
      role('A.a', 'jobs', { ttl: '10s' }),
      role('A.b', 'mails', { ttl: '20s' }),
      role('B.a', 'jobs', { heartbeat: '1s', ttl: undefined }),
      role('B.b', 'jobs', { ttl: '10s' }),
    ]);
    expect([...campaigns]).toEqual([
      ['jobs', { ttl: '10s', heartbeat: '1s' }],
      ['mails', { ttl: '20s' }],
    ]);
  });

  it('are refused where two say something else', () => {
    const roles = [
      role('A.a', 'jobs', { ttl: '10s' }),
      role('B.a', 'jobs'),
      role('C.a', 'jobs', { ttl: '20s' }),
    ];
    expect(() => declaredCampaigns(roles)).toThrow(LockConfigError);
    expect(() => declaredCampaigns(roles)).toThrow(
      '@LeaderOnly of A.a and @LeaderOnly of C.a stand for jobs with another ttl: 10s and 20s',
    );
  });
});
