import { DEFAULT_LOCK_NAME } from '../distributed-lock.constants.js';
import { LockConfigError } from '../errors/lock-config.error.js';
import type { LockSettings } from '../core/acquire-settings.js';
import type { WithLockOptions } from '../interfaces/with-lock-options.interface.js';
import { badOption } from './option-error.js';
import { mergeOptions, type OptionParser, type OptionParsers } from './option-parsers.js';
import { returnKind, text } from './text-parsers.js';
import { checkTogether, DEFAULT_SETTINGS, SETTINGS_PARSERS } from './resolve-settings.js';

type OwnOptions = Pick<WithLockOptions, 'onBusy' | 'onUnavailable' | 'returns'> & {
  readonly service: string;
};

const { signal: _signal, ...LOCK_PARSERS } = SETTINGS_PARSERS;

const PARSERS: OptionParsers<OwnOptions & Omit<LockSettings, 'signal'>> = {
  ...LOCK_PARSERS,
  onBusy: oneOf("'throw', 'skip' or a function", (value) => value === 'throw' || value === 'skip'),
  onUnavailable: oneOf('a function'),
  returns: returnKind,
  service: text,
};

/** Checks the options of a `@WithLock` when its class is loaded; what the module says is not known yet. */
export function checkWithLockOptions(
  options: WithLockOptions | undefined,
  where: string,
): WithLockOptions {
  if (options === undefined) {
    return {};
  }
  try {
    const { signal: _none, ...defaults } = DEFAULT_SETTINGS;
    const settings = mergeOptions({ service: DEFAULT_LOCK_NAME, ...defaults }, options, PARSERS);
    checkTogether({ ...settings, signal: undefined }, 0);
    return options;
  } catch (error) {
    throw error instanceof LockConfigError
      ? new LockConfigError(`@WithLock of ${where}: ${error.message}`, { cause: error })
      : error;
  }
}

function oneOf<T>(
  allowed: string,
  test: (value: unknown) => boolean = () => false,
): OptionParser<T> {
  return (value, name) => {
    if (typeof value !== 'function' && !test(value)) {
      throw badOption(name, value, allowed);
    }
    return value as T;
  };
}
