import { LockConfigError } from '../errors/lock-config.error.js';
import { kindOf } from '../key/kind-of.js';
import { nearest } from './nearest.js';

const LONGEST_VALUE = 60;

/** An option has a value that it must not have. */
export function badOption(name: string, value: unknown, allowed: string): LockConfigError {
  return new LockConfigError(`Option \`${name}\` is ${show(value)}; it must be ${allowed}`);
}

/** The same without the value, which may be a connection string. */
export function badSecretOption(name: string, value: unknown, allowed: string): LockConfigError {
  return new LockConfigError(`Option \`${name}\` is ${kindOf(value)}; it must be ${allowed}`);
}

/** There is no option of this name. */
export function unknownOption(name: string, known: readonly string[], path = ''): LockConfigError {
  const meant = nearest(name, known);
  const hint =
    meant === undefined
      ? `the options are ${known.join(', ')}`
      : `did you mean \`${path}${meant}\`?`;
  return new LockConfigError(`Unknown option \`${path}${name}\`; ${hint}`);
}

/** The value itself where it is short and plain, else what it is: objects may hold secrets. */
function show(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value.length > LONGEST_VALUE
        ? `a string of ${value.length} characters`
        : JSON.stringify(value);
    case 'number':
    case 'bigint':
    case 'boolean':
      return String(value);
    default:
      return kindOf(value);
  }
}
