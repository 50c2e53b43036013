import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LockConfigError } from '../../../lib/errors/lock-config.error.js';
import { LockKeyError } from '../../../lib/errors/lock-key.error.js';
import { lockKey, type LockKeyValue } from '../../../lib/key/lock-key.js';

/** Strings that are full of what could go wrong, lone surrogates included. */
const nasty = fc.string({
  unit: fc.constantFrom(
    ...Array.from(':/|%<>{} \t\n\0aA3u-'),
    '\u00a0',
    '\u2028',
    '\ud800',
    '\udc00',
    'é',
    '😀',
  ),
  minLength: 1,
  maxLength: 8,
});

class ObjectId {
  constructor(private readonly id: string) {}

  toString(): string {
    return this.id;
  }
}

class Customer {
  readonly id = 1;
}

const glueThirdToSecond = (): string => lockKey`k:${1}:${2}-${3}`;

/** What '%' between two values would give, by the encoder's own rule. */
const gluedByPercent = (a: string, b: string): string => `${lockKey`${a}`}%${lockKey`${b}`}`;

describe('lockKey', () => {
  it('leaves harmless values as they are', () => {
    expect(lockKey`order:${'7'}:item:${'a-b_c.d,é😀'}`).toBe('order:7:item:a-b_c.d,é😀');
  });

  it.each([
    [':', '%3A'],
    ['/', '%2F'],
    ['|', '%7C'],
    ['%', '%25'],
    ['<', '%3C'],
    ['>', '%3E'],
    ['{', '%7B'],
    ['}', '%7D'],
    [' ', '%20'],
    ['\t', '%09'],
    ['\n', '%0A'],
    ['\0', '%00'],
    ['\u007f', '%7F'],
    ['\u0085', '%C2%85'],
    ['\u00a0', '%C2%A0'],
    ['\u2028', '%E2%80%A8'],
    ['\ud800', '%ED%A0%80'],
    ['\udfff', '%ED%BF%BF'],
  ])('encodes %j as %s', (character, encoded) => {
    expect(lockKey`k:${`a${character}b`}`).toBe(`k:a${encoded}b`);
  });

  it.each<[string, LockKeyValue, string]>([
    ['a number', 42, '42'],
    ['zero', 0, '0'],
    ['a negative number', -1.5, '-1.5'],
    ['a bigint', 12345678901234567890n, '12345678901234567890'],
    ['false', false, 'false'],
    ['a Date, by its ISO form', new Date(0), '1970-01-01T00%3A00%3A00.000Z'],
    ['a class with a toString of its own', new ObjectId('5f1e'), '5f1e'],
    ['an object with a toString of its own', { toString: () => 'mine' }, 'mine'],
    ['a URL', new URL('http://a/b'), 'http%3A%2F%2Fa%2Fb'],
  ])('takes %s', (_, value, encoded) => {
    expect(lockKey`k:${value}`).toBe(`k:${encoded}`);
  });

  it.each<[unknown, RegExp]>([
    [undefined, /placeholder 2 is undefined$/],
    [null, /placeholder 2 is null$/],
    ['', /placeholder 2 is an empty string$/],
    [{ id: 1 }, /placeholder 2 is a plain object without a toString/],
    [Object.create(null), /placeholder 2 is a plain object/],
    [{ toString: 'from JSON' }, /placeholder 2 is a plain object/],
    [['a'], /placeholder 2 is an array$/],
    [Symbol('s'), /placeholder 2 is a symbol$/],
    [() => 'x', /placeholder 2 is a function$/],
    [Number.NaN, /placeholder 2 is NaN$/],
    [Number.POSITIVE_INFINITY, /placeholder 2 is Infinity$/],
    [new Date(Number.NaN), /placeholder 2 is an invalid Date$/],
    [Promise.resolve('x'), /placeholder 2 is a promise that was not awaited/],
    [new Map(), /placeholder 2 is an instance of Map without a toString/],
    [new Customer(), /placeholder 2 is an instance of Customer without a toString/],
    [new ObjectId(''), /placeholder 2 is an instance of ObjectId/],
    [Buffer.from('ff', 'hex'), /placeholder 2 is binary data; give its text/],
  ])('refuses %o', (value, message) => {
    const make = (): string => lockKey`order:${1}:${value as string}`;
    expect(make).toThrow(LockKeyError);
    expect(make).toThrow(message);
    expect(make).toThrow('lockKey`order:${...}:${...}`');
  });

  it('does not tell what is in a value that it refuses', () => {
    expect(() => lockKey`k:${{ password: 'hunter2' }}`).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('hunter2') }),
    );
  });

  it('never makes the same key of different values, whatever separates them', () => {
    const templates: readonly ((a: string, b: string) => string)[] = [
      (a, b) => lockKey`x:${a}:${b}`,
      (a, b) => lockKey`${a}/${b}y`,
      (a, b) => lockKey`${a}b|3A${b}`,
      (a, b) => lockKey`${a}a ${b}`,
      (a, b) => lockKey`${a}%{${b}}`,
    ];
    fc.assert(
      fc.property(
        nasty,
        nasty,
        nasty,
        nasty,
        fc.constantFrom(...templates),
        (a, b, c, d, template) => {
          expect(template(a, b) === template(c, d)).toBe(a === c && b === d);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('lets no value bring in a Redis hash tag, a blank or a separator', () => {
    fc.assert(
      fc.property(nasty, (value) => {
        expect(lockKey`${value}`).not.toMatch(/[:/|<>{}\s\p{Cc}\p{Cs}]/u);
      }),
    );
  });

  it.each([
    ['nothing', () => lockKey`k:${1}${2}`],
    ['text that values may contain', () => lockKey`k:${1}-${2}`],
    ['a percent sign, which encoded values contain', () => lockKey`k:${1}%${2}`],
  ])('refuses a template with %s between two placeholders', (_, make) => {
    expect(make).toThrow(LockConfigError);
    expect(make).toThrow(/between placeholder 1 and 2 there must be one of : \/ \| < > \{ \}/);
  });

  it('says so each time, not only the first', () => {
    expect(glueThirdToSecond).toThrow(/between placeholder 2 and 3/);
    expect(glueThirdToSecond).toThrow(/between placeholder 2 and 3/);
  });

  it('shows why a percent sign does not separate', () => {
    expect(gluedByPercent('a:b', '3Ac')).toBe(gluedByPercent('a', '3Ab:c'));
  });

  it('refuses an empty template', () => {
    expect(() => lockKey``).toThrow(LockKeyError);
  });

  it('says that it is a template tag when it is called like a function', () => {
    const call = lockKey as (text: unknown) => string;
    expect(() => call('order:7')).toThrow(/template tag/);
    expect(() => call('order:7')).toThrow(LockConfigError);
    // A cooked string is undefined where the escape is malformed.
    expect(() => lockKey`\u`).toThrow(LockConfigError);
  });

  it('is typed against values that may be missing', () => {
    const id = undefined as string | undefined;
    // @ts-expect-error: undefined is no part of a key
    expect(() => lockKey`order:${id}`).toThrow(LockKeyError);
  });
});
