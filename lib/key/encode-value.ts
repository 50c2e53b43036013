import { isDate } from 'node:util/types';
import { kindOf } from './kind-of.js';

/**
 * What may stand between two values: an encoded value has none of these. `%` is encoded as well but is no separator,
 * for it begins what an encoded character is replaced by: with it ('a:b', '3Ac') and ('a', '3Ab:c') would be one key.
 */
const SEPARATORS = ':/|<>{}\\s\\p{Cc}';
const SEPARATOR = new RegExp(`[${SEPARATORS}]`, 'u');
const ENCODED = new RegExp(`[%${SEPARATORS}\\p{Cs}]`, 'gu');

/** What `toString()` gives where a class has none of its own: the same for all objects, so it names none of them. */
const NAMELESS = /^\[object .*\]$/s;

/** Whether two values with this text between them can always be told apart. */
export function separates(literal: string): boolean {
  return SEPARATOR.test(literal);
}

/** The value as a part of a key that cannot alias another one; undefined if it cannot be one: see {@link whyNoKeyPart}. */
export function encodeValue(value: unknown): string | undefined {
  const text = textOf(value);
  return text === undefined || text === '' ? undefined : text.replace(ENCODED, percentEncode);
}

/** Why {@link encodeValue} gave nothing for this value, as the end of a sentence that begins with its name. */
export function whyNoKeyPart(value: unknown): string {
  if (ArrayBuffer.isView(value)) {
    return `is binary data; give its text, for example toString('hex')`;
  }
  const nameless =
    typeof value === 'object' && value !== null && !Array.isArray(value) && !isDate(value);
  return `is ${kindOf(value)}${nameless ? ' without a toString() that tells it from others' : ''}`;
}

function textOf(value: unknown): string | undefined {
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
      return Number.isFinite(value) ? String(value) : undefined;
    case 'bigint':
    case 'boolean':
      return String(value);
    case 'object':
      return value === null ? undefined : textOfObject(value);
    default:
      return undefined;
  }
}

function textOfObject(value: object): string | undefined {
  if (isDate(value)) {
    return Number.isNaN(value.getTime()) ? undefined : value.toISOString();
  }
  // The text of bytes that are no UTF-8 is the same for all of them.
  if (Array.isArray(value) || ArrayBuffer.isView(value) || typeof value.toString !== 'function') {
    return undefined;
  }
  const named: { toString(): unknown } = value;
  const text = named.toString();
  return typeof text === 'string' && !NAMELESS.test(text) ? text : undefined;
}

function percentEncode(character: string): string {
  const code = character.charCodeAt(0);
  const loneSurrogate = character.length === 1 && code >= 0xd800 && code <= 0xdfff;
  return loneSurrogate
    ? `%ED%${hex(0x80 | ((code >> 6) & 0x3f))}%${hex(0x80 | (code & 0x3f))}`
    : encodeURIComponent(character);
}

function hex(byte: number): string {
  return byte.toString(16).toUpperCase();
}
