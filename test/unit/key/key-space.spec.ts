import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LockKeyError } from '../../../lib/errors/lock-key.error.js';
import { KeySpace } from '../../../lib/key/key-space.js';

describe('KeySpace', () => {
  it('puts nothing before keys without a namespace', () => {
    expect(new KeySpace(undefined).one('order:7')).toBe('order:7');
    expect(new KeySpace(undefined).prefix('')).toBe('');
  });

  it('puts a fixed namespace before every key', () => {
    expect(new KeySpace('shop:prod').one('order:7')).toBe('shop:prod:order:7');
    expect(new KeySpace('shop').many(['b', 'a'])).toEqual(['shop:a', 'shop:b']);
    expect(new KeySpace('shop').prefix('order:')).toBe('shop:order:');
  });

  it('asks a namespace function at each call', () => {
    let tenant = 'a';
    const space = new KeySpace(() => tenant);
    expect(space.one('k')).toBe('a:k');
    tenant = 'b';
    expect(space.one('k')).toBe('b:k');
    expect(space.prefix('k')).toBe('b:k');
  });

  it('lets no tenant reach into the keys of another one', () => {
    const part = fc.string({
      unit: fc.constantFrom('a', ':', '%', '3', 'A'),
      minLength: 1,
      maxLength: 5,
    });
    fc.assert(
      fc.property(part, part, part, part, (tenant, key, otherTenant, otherKey) => {
        const one = new KeySpace(() => tenant).one(key);
        const other = new KeySpace(() => otherTenant).one(otherKey);
        expect(one === other).toBe(tenant === otherTenant && key === otherKey);
      }),
    );
  });

  it.each([undefined, null, '', {}, Promise.resolve('a')])('refuses the tenant %o', (tenant) => {
    const space = new KeySpace(() => tenant as string);
    expect(() => space.one('k')).toThrow(LockKeyError);
    expect(() => space.many(['k'])).toThrow(/What the namespace function returned is/);
    expect(() => space.prefix('')).toThrow(LockKeyError);
  });

  it('refuses an empty key although the namespace is not', () => {
    expect(() => new KeySpace('shop').one('')).toThrow(LockKeyError);
  });

  it('takes each key once, in the order of code units', () => {
    expect(
      new KeySpace(undefined).many(['b', 'a', 'B', 'ä', 'a', '😀', '\uffee', 'a1', 'a10', 'a2']),
    ).toEqual(['B', 'a', 'a1', 'a10', 'a2', 'b', 'ä', '😀', '\uffee']);
  });

  it('takes keys once that are the same only after they were normalised', () => {
    const long = 'x'.repeat(600);
    expect(new KeySpace(undefined).many([long, 'a', long])).toHaveLength(2);
  });

  it('does not change the array that it was given', () => {
    const keys = Object.freeze(['b', 'a']);
    expect(new KeySpace(undefined).many(keys)).toEqual(['a', 'b']);
    expect(keys).toEqual(['b', 'a']);
  });

  it.each([[[]], [undefined], [7], [{ 0: 'a', length: 1 }], [['a', '']], [['a', undefined]]])(
    'refuses %o as keys',
    (keys) => {
      expect(() => new KeySpace(undefined).many(keys as string[])).toThrow(LockKeyError);
    },
  );

  it('gives a beginning that the full keys really have', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', '%', 'u', '\0'), maxLength: 5 }),
        fc.string({ unit: fc.constantFrom('a', '\0'), minLength: 1, maxLength: 5 }),
        (beginning, rest) => {
          const space = new KeySpace('shop');
          expect(space.one(beginning + rest).startsWith(space.prefix(beginning))).toBe(true);
        },
      ),
    );
  });
});
