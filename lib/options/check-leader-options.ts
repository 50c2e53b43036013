import { DEFAULT_LOCK_NAME } from '../distributed-lock.constants.js';
import { LockConfigError } from '../errors/lock-config.error.js';
import type {
  CampaignOptions,
  LeaderOnlyOptions,
} from '../interfaces/leader-election.interface.js';
import { mergeOptions } from './option-parsers.js';
import { CAMPAIGN_PARSERS, type GivenCampaign, NOTHING_GIVEN } from './resolve-campaign.js';
import { returnKind, text } from './text-parsers.js';

/** What a decorator of leadership says, after it was checked. */
export interface CheckedLeaderOptions {
  readonly campaign: CampaignOptions;
  readonly service: string;
  readonly returns: 'promise' | 'observable' | undefined;
}

type LeaderSettings = GivenCampaign & Pick<CheckedLeaderOptions, 'service' | 'returns'>;

const PARSERS = { ...CAMPAIGN_PARSERS, service: text, returns: returnKind };

const DEFAULTS: LeaderSettings = {
  ...NOTHING_GIVEN,
  service: DEFAULT_LOCK_NAME,
  returns: undefined,
};

/** Checks what can be checked when a class is loaded; the options of the module are not known yet. */
export function checkLeaderOptions(
  decorator: string,
  where: string,
  name: string,
  options: LeaderOnlyOptions,
): CheckedLeaderOptions {
  try {
    text(name, 'name');
    const { service, returns, ...campaign } = mergeOptions(DEFAULTS, options, PARSERS);
    return { service, returns, campaign };
  } catch (error) {
    throw error instanceof LockConfigError
      ? new LockConfigError(`${decorator} of ${where}: ${error.message}`, { cause: error })
      : error;
  }
}
