import type { LockSettings, RetrySettings } from '../core/acquire-settings.js';
import { formatExactly } from '../errors/format.js';
import { LockConfigError } from '../errors/lock-config.error.js';
import type { AcquireOptions } from '../interfaces/lock-options.interface.js';
import { badOption } from './option-error.js';
import { duration, flag, mergeOptions, number, type OptionParsers } from './option-parsers.js';

/** The shortest ttl, in milliseconds: a lease lives in sixths, and timers are no finer than some 5 ms. */
export const MIN_TTL = 30;

/** What holds where neither module nor call says anything. */
export const DEFAULT_SETTINGS: LockSettings = Object.freeze({
  ttl: 30_000,
  wait: 5_000,
  autoExtend: true,
  retry: Object.freeze({ min: 10, max: 800, factor: 1.5, jitter: 0.2 }),
  reentrant: true,
  minHold: 0,
  maxHold: Infinity,
  maxWaiters: Infinity,
  handover: true,
  signal: undefined,
});

const A_DURATION = "a duration: milliseconds, or a string such as '30s'";
const pause = duration({ min: Number.MIN_VALUE, allowed: `${A_DURATION}, more than 0` });

const RETRY_PARSERS: OptionParsers<RetrySettings> = {
  min: pause,
  max: pause,
  factor: number('a number of at least 1', (value) => value >= 1 && Number.isFinite(value)),
  jitter: number('a number from 0 to 1', (value) => value >= 0 && value <= 1),
};

/** How each option of an acquisition is checked. */
export const SETTINGS_PARSERS: OptionParsers<LockSettings> = {
  ttl: duration({ min: MIN_TTL, allowed: `${A_DURATION}, finite and at least ${MIN_TTL} ms` }),
  wait: duration({
    min: 0,
    infinite: true,
    allowed: `${A_DURATION}, at least 0; Infinity never gives up`,
  }),
  autoExtend: flag,
  retry: (value, name, current) => mergeOptions(current, value, RETRY_PARSERS, `${name}.`),
  reentrant: flag,
  minHold: duration({ min: 0, allowed: `${A_DURATION}, finite and at least 0` }),
  maxHold: duration({
    min: Number.MIN_VALUE,
    infinite: true,
    allowed: `${A_DURATION}, more than 0; Infinity for none`,
  }),
  maxWaiters: number(
    'a whole number of at least 0; Infinity for none',
    (value) => value === Infinity || (Number.isInteger(value) && value >= 0),
  ),
  handover: flag,
  signal: (value, name) => {
    if (!isAbortSignal(value)) {
      throw badOption(name, value, 'an AbortSignal');
    }
    return value;
  },
};

/** The settings of one call: its options over the defaults. */
export function resolveSettings(
  defaults: LockSettings,
  options: AcquireOptions | undefined,
  clockSkew: number,
): LockSettings {
  if (options === undefined) {
    return defaults;
  }
  const settings = mergeOptions(defaults, options, SETTINGS_PARSERS);
  checkTogether(settings, clockSkew);
  return settings;
}

/** The new ttl of a lock that is held already. */
export function parseTtl(ttl: unknown, clockSkew: number): number {
  const parsed = SETTINGS_PARSERS.ttl(ttl, 'ttl', DEFAULT_SETTINGS.ttl);
  checkTtl(parsed, clockSkew);
  return parsed;
}

/** Checks what options say about one another, wherever each of them came from. */
export function checkTogether(settings: LockSettings, clockSkew: number): void {
  const { ttl, minHold, maxHold, retry } = settings;
  checkTtl(ttl, clockSkew);
  if (maxHold < minHold) {
    throw conflict('maxHold', maxHold, 'at least', 'minHold', minHold);
  }
  if (retry.max < retry.min) {
    throw conflict('retry.max', retry.max, 'at least', 'retry.min', retry.min);
  }
}

/** Checks that a lease outlasts what the clocks may differ by. */
export function checkTtl(ttl: number, clockSkew: number): void {
  if (ttl <= 2 * clockSkew) {
    throw conflict('ttl', ttl, 'more than twice', 'clockSkew', clockSkew);
  }
}

/** Two options that do not go together. */
export function conflict(
  name: string,
  value: number,
  relation: string,
  other: string,
  limit: number,
): LockConfigError {
  return new LockConfigError(
    `Option \`${name}\` is ${formatExactly(value)}; it must be ${relation} \`${other}\`, which is ${formatExactly(limit)}`,
  );
}

function isAbortSignal(value: unknown): value is AbortSignal {
  const signal = value as Partial<AbortSignal> | null;
  return (
    typeof signal === 'object' &&
    typeof signal?.aborted === 'boolean' &&
    typeof signal.addEventListener === 'function'
  );
}
