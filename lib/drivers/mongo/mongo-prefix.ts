import type { MongoDocument } from './mongo-port.js';
import { LONG_AGO } from './mongo-statements.js';

const LAST_CHARACTER = '\u{10FFFF}';
const BEFORE_SURROGATES = 0xd7ff;
const AFTER_SURROGATES = 0xe000;

/** Locks that were not released, whose keys begin with the prefix. In a range every character stands for itself. */
export function withPrefix(prefix: string): MongoDocument {
  const end = successor(prefix);
  return {
    _id: end === undefined ? { $gte: prefix } : { $gte: prefix, $lt: end },
    expiry: { $gt: LONG_AGO },
  };
}

/** The first string after all that begin with the prefix, in the order of code points, which is that of UTF-8. */
function successor(prefix: string): string | undefined {
  const characters = Array.from(prefix);
  while (characters.at(-1) === LAST_CHARACTER) {
    characters.pop();
  }
  const point = characters.pop()?.codePointAt(0);
  if (point === undefined) {
    return undefined;
  }
  const next = point === BEFORE_SURROGATES ? AFTER_SURROGATES : point + 1;
  return characters.join('') + String.fromCodePoint(next);
}
