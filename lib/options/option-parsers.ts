import ms from 'ms';
import { badOption, unknownOption } from './option-error.js';

/** Checks one option: gives its value in the form that the engine wants, or throws a `LockConfigError`. */
export type OptionParser<T> = (value: unknown, name: string, current: T) => T;

/** A parser for each option of `S`. */
export type OptionParsers<S> = { readonly [K in keyof S]-?: OptionParser<S[K]> };

/** What a duration must keep to; `min` is in milliseconds. */
export interface DurationRule {
  readonly min: number;
  readonly infinite?: boolean;
  readonly allowed: string;
}

/** A hundred years: what every backend's timestamps can take. */
const LONGEST = 100 * 365 * 24 * 60 * 60 * 1000;

/** Parses milliseconds or a string such as `'30s'` into whole milliseconds, for backends take nothing else. */
export function duration(rule: DurationRule): OptionParser<number> {
  return (value, name) => {
    const parsed = toMilliseconds(value);
    if (parsed === Infinity && rule.infinite) {
      return Infinity;
    }
    if (parsed === undefined || !(parsed >= rule.min && parsed <= LONGEST)) {
      throw badOption(name, value, rule.allowed);
    }
    return Math.ceil(parsed);
  };
}

function toMilliseconds(value: unknown): number | undefined {
  if (typeof value === 'number') {
    return value;
  }
  // `ms` throws for these instead of saying that it cannot read them.
  if (typeof value !== 'string' || value === '' || value.length > 100) {
    return undefined;
  }
  return ms(value as ms.StringValue);
}

/** Parses true or false. */
export const flag: OptionParser<boolean> = (value, name) => {
  if (typeof value !== 'boolean') {
    throw badOption(name, value, 'true or false');
  }
  return value;
};

/** Parses a number that passes the test. */
export function number(allowed: string, test: (value: number) => boolean): OptionParser<number> {
  return (value, name) => {
    if (typeof value !== 'number' || !test(value)) {
      throw badOption(name, value, allowed);
    }
    return value;
  };
}

/** The current values with those that are given over them; undefined means not given. */
export function mergeOptions<S extends object>(
  current: S,
  given: unknown,
  parsers: OptionParsers<S>,
  path = '',
): S {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw badOption(path === '' ? 'options' : path.slice(0, -1), given, 'an object');
  }
  const merged = { ...current };
  for (const [name, value] of Object.entries(given)) {
    if (!isOptionOf(parsers, name)) {
      throw unknownOption(name, Object.keys(parsers), path);
    }
    if (value !== undefined) {
      merged[name] = parsers[name](value, path + name, current[name]);
    }
  }
  return merged;
}

function isOptionOf<S>(parsers: OptionParsers<S>, name: string): name is keyof S & string {
  return Object.hasOwn(parsers, name);
}
