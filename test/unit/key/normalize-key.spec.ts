import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LockKeyError } from '../../../lib/errors/lock-key.error.js';
import { lockKey } from '../../../lib/key/lock-key.js';
import { MAX_KEY_BYTES, normalizeKey } from '../../../lib/key/normalize-key.js';

/** Any UTF-16, with a liking for what is escaped and for what escapes look like. */
const raw = fc.string({
  unit: fc.oneof(
    {
      weight: 3,
      arbitrary: fc.constantFrom(
        '\0',
        '%',
        'u',
        '0',
        '2',
        '5',
        'D',
        '8',
        '%u',
        '%u0000',
        '\ud800',
        '\udc00',
      ),
    },
    {
      weight: 1,
      arbitrary: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
    },
  ),
  minLength: 1,
  maxLength: 12,
});

const longRaw = fc.string({
  unit: fc.constantFrom('a', 'é', '€', '😀', '\ud800', '\0'),
  minLength: 160,
  maxLength: 600,
});

const bytes = (key: string): number => Buffer.byteLength(key);

const undo = (key: string): string =>
  key.replace(/%u([0-9A-F]{4})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );

describe('normalizeKey', () => {
  it('leaves ordinary keys alone, and does not even copy them', () => {
    for (const key of [
      'order:7',
      'a b',
      'ключ:1',
      '😀',
      '100%',
      lockKey`k:${'%u:'}`,
      'x'.repeat(MAX_KEY_BYTES),
    ]) {
      expect(normalizeKey(key)).toBe(key);
    }
  });

  it.each([
    ['a\0b', 'a%u0000b'],
    ['\ud800', '%uD800'],
    ['\udc00\ud800', '%uDC00%uD800'],
    ['%u0000', '%u0025u0000'],
  ])('escapes %j as %s', (key, escaped) => {
    expect(normalizeKey(key)).toBe(escaped);
  });

  it('gives different keys for different raw keys', () => {
    fc.assert(
      fc.property(raw, raw, (a, b) => {
        expect(normalizeKey(a) === normalizeKey(b)).toBe(a === b);
      }),
      { numRuns: 5000 },
    );
  });

  it('can be undone, so it is injective', () => {
    fc.assert(
      fc.property(raw, (key) => {
        expect(undo(normalizeKey(key))).toBe(key);
      }),
      { numRuns: 5000 },
    );
  });

  it('gives drivers neither NUL nor lone surrogates nor more than 512 bytes', () => {
    fc.assert(
      fc.property(fc.oneof(raw, longRaw), (key) => {
        const normalized = normalizeKey(key);
        expect(normalized).not.toMatch(/[\0\p{Cs}]/u);
        expect(bytes(normalized)).toBeLessThanOrEqual(MAX_KEY_BYTES);
      }),
    );
  });

  it('keeps the beginning of a long key and ends it in a digest of all of it', () => {
    const key = `invoice:${'x'.repeat(600)}`;
    expect(normalizeKey(key)).toMatch(/^invoice:x{439}~[0-9a-f]{64}$/);
    expect(bytes(normalizeKey(key))).toBe(MAX_KEY_BYTES);
    expect(normalizeKey(`${key}1`)).not.toBe(normalizeKey(`${key}2`));
    expect(normalizeKey(key)).toBe(normalizeKey(key));
  });

  it.each(['a', 'é', '€', '😀'])('measures bytes and cuts between characters: %s', (character) => {
    const width = bytes(character);
    const fits = character.repeat(Math.floor(MAX_KEY_BYTES / width));
    expect(normalizeKey(fits)).toBe(fits);
    expect(normalizeKey(`${fits}${character}`)).toMatch(/~[0-9a-f]{64}$/);
    for (let shift = 0; shift < 4; shift++) {
      const normalized = normalizeKey('.'.repeat(shift) + character.repeat(600));
      expect(normalized).not.toContain('\ufffd');
      expect(normalized).toMatch(new RegExp(`^\\.{${shift}}(${character})+~[0-9a-f]{64}$`, 'u'));
      expect(bytes(normalized)).toBeGreaterThan(MAX_KEY_BYTES - width);
    }
  });

  it('hashes long keys that differ only in what is escaped to different keys', () => {
    const long = 'x'.repeat(520);
    expect(
      new Set(['\0', '%u0000', '\ud800', '%uD800'].map((odd) => normalizeKey(long + odd))).size,
    ).toBe(4);
  });

  it('puts the prefix before the key and counts it in', () => {
    expect(normalizeKey('k', 'app:')).toBe('app:k');
    expect(bytes(normalizeKey('x'.repeat(510), 'app:'))).toBe(MAX_KEY_BYTES);
    expect(normalizeKey('x'.repeat(510), 'app:')).toMatch(/^app:x+~[0-9a-f]{64}$/);
  });

  it.each([
    ['', 'an empty string'],
    [undefined, 'undefined'],
    [null, 'null'],
    [7, 'a number'],
    [{}, 'a plain object'],
    [Symbol('k'), 'a symbol'],
  ])('refuses %o, with a prefix too', (key, kind) => {
    expect(() => normalizeKey(key)).toThrow(LockKeyError);
    expect(() => normalizeKey(key, 'app:')).toThrow(
      `must be a string that is not empty, but it is ${kind}`,
    );
  });
});
