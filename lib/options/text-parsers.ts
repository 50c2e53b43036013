import { badOption } from './option-error.js';
import type { OptionParser } from './option-parsers.js';

/** Control characters and lone surrogates: backends and terminals do not agree on them. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/u;

/** Checks what stands for a text in keys, owners and tokens. */
export const text = ((value, name) => {
  if (typeof value !== 'string' || value.trim() === '' || UNPRINTABLE.test(value)) {
    throw badOption(name, value, 'a string that is not empty, without control characters');
  }
  return value;
}) satisfies OptionParser<string>;

/** Checks what names a process in owners. */
export const parseNode = ((value, name) => {
  const node = text(value, name);
  if (node.includes('#')) {
    throw badOption(name, value, 'without `#`, which ends the node in an owner');
  }
  return node;
}) satisfies OptionParser<string>;

/** Checks what a decorated method is said to return. */
export const returnKind = ((value, name) => {
  if (value !== 'promise' && value !== 'observable') {
    throw badOption(name, value, "'promise' or 'observable'");
  }
  return value;
}) satisfies OptionParser<'promise' | 'observable' | undefined>;
