import { driftMargin } from '../core/lease.js';
import { formatExactly } from '../errors/format.js';
import { LockConfigError } from '../errors/lock-config.error.js';
import { duration, flag, mergeOptions, type OptionParsers } from './option-parsers.js';
import { parseNode } from './text-parsers.js';
import { checkTtl, conflict, SETTINGS_PARSERS } from './resolve-settings.js';

/** The options of a campaign as they were given, checked one by one. */
export interface GivenCampaign {
  readonly nodeId: string | undefined;
  readonly ttl: number | undefined;
  readonly heartbeat: number | undefined;
  readonly tokenPeriod: number | undefined;
  readonly reclaim: boolean | undefined;
}

/** The options of a campaign after they were checked against each other: durations are milliseconds, nothing is missing. */
export interface CampaignSettings {
  readonly nodeId: string;
  readonly ttl: number;
  readonly heartbeat: number;
  readonly tokenPeriod: number;
  readonly reclaim: boolean;
}

/** What a campaign takes from its module where its own options say nothing. */
export interface CampaignDefaults {
  readonly node: string;
  readonly ttl: number;
  readonly clockSkew: number;
}

export const NOTHING_GIVEN: GivenCampaign = Object.freeze({
  nodeId: undefined,
  ttl: undefined,
  heartbeat: undefined,
  tokenPeriod: undefined,
  reclaim: undefined,
});

const span = duration({
  min: 1,
  allowed: "a finite duration of at least 1 ms: milliseconds, or a string such as '5s'",
});

/** How each option of a campaign is checked. */
export const CAMPAIGN_PARSERS: OptionParsers<GivenCampaign> = {
  nodeId: (value, name) => parseNode(value, name),
  ttl: (value, name) => SETTINGS_PARSERS.ttl(value, name, 0),
  heartbeat: (value, name) => span(value, name, 0),
  tokenPeriod: (value, name) => span(value, name, 0),
  reclaim: (value, name) => flag(value, name, false),
};

/** What is given over what was given before. */
export function mergeCampaign(before: GivenCampaign, given: unknown, path = ''): GivenCampaign {
  return mergeOptions(before, given, CAMPAIGN_PARSERS, path);
}

/** Adds what was not given, and checks that a leader can keep its seat. */
export function completeCampaign(
  given: GivenCampaign,
  defaults: CampaignDefaults,
): CampaignSettings {
  const { nodeId = defaults.node, ttl = defaults.ttl, reclaim = false } = given;
  const { heartbeat = Math.ceil(ttl / 6), tokenPeriod = Math.ceil(ttl / 3) } = given;
  checkTtl(ttl, defaults.clockSkew);
  if (ttl < 2 * tokenPeriod) {
    throw conflict('ttl', ttl, 'at least twice', 'tokenPeriod', tokenPeriod);
  }
  const margin = driftMargin(ttl) + defaults.clockSkew;
  if (ttl <= 2 * heartbeat + margin) {
    throw new LockConfigError(
      `Option \`ttl\` is ${formatExactly(ttl)}; it must be more than twice \`heartbeat\`, which is ${formatExactly(heartbeat)}, ` +
        `and a margin of ${formatExactly(margin)}: a leader must not lose its seat by one heartbeat that is missed`,
    );
  }
  return { nodeId, ttl, heartbeat, tokenPeriod, reclaim };
}
