import { LockConfigError } from '../errors/lock-config.error.js';
import type { CampaignOptions } from '../interfaces/leader-election.interface.js';
import type { LeaderRole } from './leader-role.accessor.js';

type OptionName = keyof CampaignOptions;

/** The options of each campaign that the roles ask for: what one of them says holds for all, and no two may differ. */
export function declaredCampaigns(
  roles: Iterable<LeaderRole>,
): ReadonlyMap<string, CampaignOptions> {
  const campaigns = new Map<string, CampaignOptions>();
  const saidBy = new Map<string, LeaderRole>();
  for (const role of roles) {
    const merged: Record<string, unknown> = { ...campaigns.get(role.name) };
    for (const option of Object.keys(role.options) as OptionName[]) {
      if (role.options[option] !== undefined) {
        const by = `${role.name} ${option}`;
        assertSame(role, saidBy.get(by), option);
        saidBy.set(by, role);
        merged[option] = role.options[option];
      }
    }
    campaigns.set(role.name, merged);
  }
  return campaigns;
}

function assertSame(one: LeaderRole, other: LeaderRole | undefined, option: OptionName): void {
  if (other !== undefined && other.options[option] !== one.options[option]) {
    throw new LockConfigError(
      `${other.where} and ${one.where} stand for ${one.name} with another ${option}: ` +
        `${String(other.options[option])} and ${String(one.options[option])}. Say it in one place, or the same in both`,
    );
  }
}
