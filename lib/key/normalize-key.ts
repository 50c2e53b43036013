import { createHash } from 'node:crypto';
import { LockKeyError } from '../errors/lock-key.error.js';
import { kindOf } from './kind-of.js';

/** The longest key that a driver ever sees, in bytes of UTF-8. */
export const MAX_KEY_BYTES = 512;

/** A string of so many UTF-16 units has at most three bytes each, so it need not be measured. */
const SURELY_SHORT = Math.floor(MAX_KEY_BYTES / 3);

/**
 * NUL and lone surrogates, which some backends refuse or alias, become `%uXXXX`. A `%u` that was there before has its
 * `%` replaced as well, so every `%u` of the result is an escape and no two raw keys become one.
 */
const ODD = /[\0\p{Cs}]|%(?=u)/u;
const EVERY_ODD = new RegExp(ODD, 'gu');

/** `~` and 64 hexadecimal digits. */
const DIGEST_BYTES = 65;

/** The key that drivers see for a raw key: free of characters that they alias, and at most 512 bytes long. */
export function normalizeKey(raw: unknown, prefix = ''): string {
  if (typeof raw !== 'string' || raw === '') {
    throw new LockKeyError(`A key must be a string that is not empty, but it is ${kindOf(raw)}`);
  }
  const key = escapeKey(prefix + raw);
  return key.length <= SURELY_SHORT ? key : shorten(key);
}

/** The part of {@link normalizeKey} that works character by character, so it fits beginnings of keys too. */
export function escapeKey(raw: string): string {
  return ODD.test(raw) ? raw.replace(EVERY_ODD, escapeCharacter) : raw;
}

function escapeCharacter(character: string): string {
  return `%u${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
}

function shorten(key: string): string {
  const bytes = Buffer.from(key);
  if (bytes.length <= MAX_KEY_BYTES) {
    return key;
  }
  let end = MAX_KEY_BYTES - DIGEST_BYTES;
  while (isContinuation(bytes[end])) {
    end--;
  }
  return `${bytes.toString('utf8', 0, end)}~${createHash('sha256').update(bytes).digest('hex')}`;
}

/** Whether a byte is inside a character of UTF-8, not its first. */
function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
