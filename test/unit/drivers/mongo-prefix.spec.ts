import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { withPrefix } from '../../../lib/drivers/mongo/mongo-prefix.js';

interface Range {
  readonly $gte: string;
  readonly $lt?: string;
}

const rangeOf = (prefix: string): Range => withPrefix(prefix)['_id'] as Range;

/** By bytes, as MongoDB compares strings. */
const compare = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

function contains({ $gte, $lt }: Range, key: string): boolean {
  return compare(key, $gte) >= 0 && ($lt === undefined || compare(key, $lt) < 0);
}

/** Any characters, and many of those at the ends of the ranges that a successor has to step over. */
const text = fc.string({
  unit: fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    fc.constantFrom('\u{10FFFF}', '\uD7FF', '\uE000', '\uFFFF', '\u{10000}', '\u0001', '$', '\\'),
  ),
  maxLength: 4,
});

describe('the range of a prefix', () => {
  it('has all keys that begin with it, and no others', () => {
    fc.assert(
      fc.property(text, text, text, (prefix, rest, other) => {
        expect(contains(rangeOf(prefix), prefix + rest)).toBe(true);
        expect(contains(rangeOf(prefix), other)).toBe(other.startsWith(prefix));
      }),
      { numRuns: 5000 },
    );
  });

  it('has no end where there is nothing after it', () => {
    expect(rangeOf('')).toEqual({ $gte: '' });
    expect(rangeOf('\u{10FFFF}')).toEqual({ $gte: '\u{10FFFF}' });
  });

  it('steps over what is no character', () => {
    expect(rangeOf('a\uD7FF')).toEqual({ $gte: 'a\uD7FF', $lt: 'a\uE000' });
    expect(rangeOf('a\u{10FFFF}')).toEqual({ $gte: 'a\u{10FFFF}', $lt: 'b' });
  });
});
