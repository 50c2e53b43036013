import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeyTemplate } from '../../../lib/key/key-template.js';
import { lockKey, type LockKeyValue } from '../../../lib/key/lock-key.js';

const RUNS = { numRuns: 1000 };

/** Strings that are full of what could go wrong, lone surrogates included. */
const nasty = fc.string({
  unit: fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...Array.from(':/|%<>{}.- \t\n\0aA0123BCDEFu')) },
    { weight: 1, arbitrary: fc.constantFrom('%3A', '<0>', '{0}', '\u00a0', '\ud800', '\udc00') },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }) },
  ),
  minLength: 1,
  maxLength: 8,
});

/** What an argument can be; two of them mean the same if they are the same text. */
const value: fc.Arbitrary<LockKeyValue> = fc.oneof(
  { weight: 4, arbitrary: nasty },
  { weight: 1, arbitrary: fc.integer() },
  { weight: 1, arbitrary: fc.bigInt() },
  { weight: 1, arbitrary: fc.boolean() },
  { weight: 1, arbitrary: nasty.map((text) => ({ toString: () => text })) },
);

const bracketed = fc.constantFrom<(path: string) => string>(
  (path) => `<${path}>`,
  (path) => `{${path}}`,
);

/** What can stand between two placeholders: anything without brackets, as long as one character separates. */
const separator = fc
  .tuple(
    fc.string({ unit: fc.constantFrom('a', '%', '3A', ':', '-'), maxLength: 3 }),
    fc.constantFrom(':', '/', '|', ' ', '\t'),
    fc.string({ unit: fc.constantFrom('a', '%', '3A', ':', '-'), maxLength: 3 }),
  )
  .map((parts) => parts.join(''));

/** A template of so many arguments, each used once, in some order. */
const templateOf = (count: number): fc.Arbitrary<string> =>
  fc
    .record({
      order: fc.shuffledSubarray([...Array(count).keys()], { minLength: count }),
      brackets: fc.array(bracketed, { minLength: count, maxLength: count }),
      between: fc.array(separator, { minLength: count, maxLength: count }),
      before: fc.string({ unit: fc.constantFrom('a', '%', ':'), maxLength: 2 }),
    })
    .map(({ order, brackets, between, before }) =>
      order.reduce(
        (text, argument, i) =>
          `${text}${i === 0 ? '' : between[i]}${brackets[i]!(String(argument))}`,
        before,
      ),
    );

const scene = fc
  .integer({ min: 1, max: 4 })
  .chain((count) =>
    fc.tuple(
      templateOf(count),
      fc.array(value, { minLength: count, maxLength: count }),
      fc.array(value, { minLength: count, maxLength: count }),
    ),
  );

const resolve = (source: string, args: readonly unknown[]): string =>
  new KeyTemplate(source, 'Any.method').resolve(args);

const texts = (args: readonly LockKeyValue[]): readonly string[] => args.map(String);

const cut = (text: string, at: number): [string, string] => [text.slice(0, at), text.slice(at)];

const separators = (text: string): number => text.match(/[:/|\s\p{Cc}]/gu)?.length ?? 0;

/** The key, or the name of the error that refuses it. */
function spelt(make: () => string): string {
  try {
    return make();
  } catch (error) {
    return (error as Error).name;
  }
}

describe('keys, whatever the template and the arguments', () => {
  it('are never the same for different arguments', () => {
    fc.assert(
      fc.property(scene, ([source, one, other]) => {
        const same = texts(one).every((text, i) => text === texts(other)[i]);
        expect(resolve(source, one) === resolve(source, other)).toBe(same);
      }),
      RUNS,
    );
  });

  it('are never the same for arguments that differ in where one ends and the next begins', () => {
    fc.assert(
      fc.property(templateOf(2), nasty, nasty, fc.nat(), fc.nat(), (source, a, b, i, j) => {
        const text = a + b;
        const [one, other] = [i, j].map((n) => cut(text, 1 + (n % (text.length - 1 || 1))));
        fc.pre(one![1] !== '' && other![1] !== '' && one![0] !== other![0]);
        expect(resolve(source, one!)).not.toBe(resolve(source, other!));
      }),
      RUNS,
    );
  });

  it('have no hash tag and no placeholder, whatever comes in with a value', () => {
    fc.assert(
      fc.property(scene, ([source, args]) => {
        expect(resolve(source, args)).not.toMatch(/[<>{}]/);
      }),
      RUNS,
    );
  });

  it('have as many separators as the template has: no value adds one', () => {
    fc.assert(
      fc.property(scene, ([source, args]) => {
        expect(separators(resolve(source, args))).toBe(separators(source));
      }),
      RUNS,
    );
  });

  it('are well-formed Unicode', () => {
    fc.assert(
      fc.property(scene, ([source, args]) => {
        expect(resolve(source, args)).not.toMatch(/\p{Cs}/u);
      }),
      RUNS,
    );
  });

  it('tell the values: each can be read back', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), nasty, (any, odd) => {
        for (const text of [any, odd].filter((candidate) => !/\p{Cs}/u.test(candidate))) {
          expect(decodeURIComponent(resolve('<0>', [text]))).toBe(text);
        }
      }),
      RUNS,
    );
  });

  it('are those of lockKey for the same values', () => {
    fc.assert(
      fc.property(value, value, value, (a, b, c) => {
        expect(resolve('order:<0>', [a])).toBe(lockKey`order:${a}`);
        expect(resolve('{0}/<1>|x', [a, b])).toBe(lockKey`${a}/${b}|x`);
        expect(resolve('<2> <0.id>:%<1>', [{ id: a }, b, c])).toBe(lockKey`${c} ${a}:%${b}`);
      }),
      RUNS,
    );
  });

  it('depend on the value, not on the way to it', () => {
    fc.assert(
      fc.property(value, (a) => {
        const key = resolve('k:<0>', [a]);
        expect(resolve('k:{0}', [a])).toBe(key);
        expect(resolve('k:<1.in.it>', ['', { in: { it: a } }])).toBe(key);
      }),
      RUNS,
    );
  });

  it('are refused by template and lockKey alike, or by neither', () => {
    fc.assert(
      fc.property(fc.anything({ withDate: true, withMap: true, withTypedArray: true }), (any) => {
        expect(spelt(() => resolve('k:<0>', [any]))).toBe(
          spelt(() => lockKey`k:${any as LockKeyValue}`),
        );
      }),
      RUNS,
    );
  });
});
