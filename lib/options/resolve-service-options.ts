import { hostname } from 'node:os';
import type { LockSettings } from '../core/acquire-settings.js';
import { DEFAULT_LOCK_NAME } from '../distributed-lock.constants.js';
import type {
  DistributedLockModuleOptions,
  LockErrorMapper,
  LockNamespace,
  RefusalHandler,
} from '../interfaces/distributed-lock-module-options.interface.js';
import type { LockDriver } from '../interfaces/lock-driver.interface.js';
import { badOption, badSecretOption } from './option-error.js';
import { duration, flag, mergeOptions, type OptionParsers } from './option-parsers.js';
import {
  completeCampaign,
  type GivenCampaign,
  mergeCampaign,
  NOTHING_GIVEN,
} from './resolve-campaign.js';
import { checkTogether, DEFAULT_SETTINGS, SETTINGS_PARSERS } from './resolve-settings.js';
import { parseNode, text } from './text-parsers.js';

interface FencingSettings {
  readonly retention: number;
}

interface HandoverSettings {
  readonly enabled: boolean;
  readonly maxTime: number;
}

/** The options that are the service's own, after they were checked. */
interface OwnSettings {
  readonly driver: LockDriver | undefined;
  readonly name: string;
  readonly isGlobal: boolean;
  readonly namespace: LockNamespace | undefined;
  readonly node: string;
  readonly drainTimeout: number;
  readonly clockSkew: number;
  readonly mapErrors: boolean | LockErrorMapper;
  readonly onBusy: 'throw' | RefusalHandler;
  readonly onUnavailable: RefusalHandler | undefined;
  readonly handover: HandoverSettings;
  /** What all campaigns are given. */
  readonly leader: GivenCampaign;
  readonly fencing: FencingSettings;
}

type ServiceSettings = OwnSettings & Omit<LockSettings, 'handover' | 'signal'>;

/** A service's options after they were checked: nothing is missing, and durations are milliseconds. */
export interface ResolvedServiceOptions extends OwnSettings {
  readonly driver: LockDriver;
  /** What an acquisition without options gets. */
  readonly defaults: LockSettings;
}

const A_DRIVER = 'a lock driver, for example new MemoryLockDriver()';
const DRIVER_METHODS = ['acquire', 'renew', 'release', 'inspect', 'list', 'forceRelease'] as const;

const time = duration({
  min: 0,
  allowed: "a finite duration of at least 0: milliseconds, or a string such as '10s'",
});

const FENCING_PARSERS: OptionParsers<FencingSettings> = {
  retention: duration({
    min: 60_000,
    allowed: "a finite duration of at least a minute: milliseconds, or a string such as '7d'",
  }),
};

const HANDOVER_PARSERS: OptionParsers<Pick<HandoverSettings, 'maxTime'>> = { maxTime: time };

const { handover: _handover, signal: _signal, ...LOCK_PARSERS } = SETTINGS_PARSERS;

const SERVICE_PARSERS: OptionParsers<ServiceSettings> = {
  driver: parseDriver,
  name: text,
  isGlobal: flag,
  namespace: parseNamespace,
  node: parseNode,
  drainTimeout: time,
  clockSkew: time,
  mapErrors: (value, name) => {
    if (typeof value !== 'boolean' && typeof value !== 'function') {
      throw badOption(name, value, 'true, false or a function of the error');
    }
    return value as boolean | LockErrorMapper;
  },
  onBusy: (value, name) => (value === 'throw' ? value : refusalHandler(value, name, "'throw' or ")),
  onUnavailable: (value, name) => refusalHandler(value, name),
  leader: (value, name, current) => mergeCampaign(current, value, `${name}.`),
  fencing: (value, name, current) => mergeOptions(current, value, FENCING_PARSERS, `${name}.`),
  ...LOCK_PARSERS,
  handover: (value, name, current) => {
    if (typeof value === 'boolean') {
      return { ...current, enabled: value };
    }
    if (typeof value !== 'object') {
      throw badOption(name, value, 'true, false or { maxTime }');
    }
    return {
      enabled: true,
      ...mergeOptions({ maxTime: current.maxTime }, value, HANDOVER_PARSERS, `${name}.`),
    };
  },
};

/** Whether this is a driver, perhaps an unfinished one, and not an object with a driver in it. */
export function isDriver(value: unknown): value is LockDriver {
  const driver = value as Partial<LockDriver> | null | undefined;
  return DRIVER_METHODS.some((method) => typeof driver?.[method] === 'function');
}

/** Checks the options of a service; a driver alone is options enough. */
export function resolveServiceOptions(
  input: LockDriver | DistributedLockModuleOptions,
): ResolvedServiceOptions {
  if (typeof input !== 'object' || input === null) {
    throw badSecretOption('driver', input, A_DRIVER);
  }
  const options = isDriver(input) ? { driver: input } : input;
  const settings = mergeOptions(defaultSettings(), options, SERVICE_PARSERS);
  const { driver } = settings;
  if (driver === undefined) {
    throw badSecretOption('driver', undefined, A_DRIVER);
  }
  const defaults: LockSettings = {
    ttl: settings.ttl,
    wait: settings.wait,
    autoExtend: settings.autoExtend,
    retry: settings.retry,
    reentrant: settings.reentrant,
    minHold: settings.minHold,
    maxHold: settings.maxHold,
    maxWaiters: settings.maxWaiters,
    handover: settings.handover.enabled,
    signal: undefined,
  };
  checkTogether(defaults, settings.clockSkew);
  if (settings.leader !== NOTHING_GIVEN) {
    completeCampaign(settings.leader, settings);
  }
  return { ...settings, driver, defaults };
}

function defaultSettings(): ServiceSettings {
  const { handover, signal: _, ...lockDefaults } = DEFAULT_SETTINGS;
  return {
    ...lockDefaults,
    driver: undefined,
    name: DEFAULT_LOCK_NAME,
    isGlobal: true,
    namespace: undefined,
    node: `${hostname()}:${process.pid}`,
    drainTimeout: 10_000,
    clockSkew: 0,
    mapErrors: true,
    onBusy: 'throw',
    onUnavailable: undefined,
    handover: { enabled: handover, maxTime: 100 },
    leader: NOTHING_GIVEN,
    fencing: { retention: 7 * 24 * 3_600_000 },
  };
}

/** What to answer instead is said at the method: none would be right for all, and an empty one would pass for success. */
function refusalHandler(value: unknown, name: string, others = ''): RefusalHandler {
  if (typeof value !== 'function') {
    const allowed = `${others}a function of the refused call; what to answer is said at each @WithLock`;
    throw badOption(name, value, allowed);
  }
  return value as RefusalHandler;
}

function parseDriver(value: unknown, name: string): LockDriver {
  if (typeof value !== 'object' || value === null) {
    throw badSecretOption(name, value, A_DRIVER);
  }
  const driver = value as Partial<LockDriver>;
  const missing = DRIVER_METHODS.filter((method) => typeof driver[method] !== 'function');
  if (missing.length > 0) {
    throw badOption(
      name,
      value,
      `a lock driver, but it has no ${missing.map((method) => `${method}()`).join(', ')}`,
    );
  }
  return value as LockDriver;
}

function parseNamespace(value: unknown, name: string): LockNamespace {
  return typeof value === 'function' ? (value as () => string) : text(value, name);
}
