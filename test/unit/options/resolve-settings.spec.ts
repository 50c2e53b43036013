import { describe, expect, it } from 'vitest';
import { LockConfigError } from '../../../lib/errors/lock-config.error.js';
import type { AcquireOptions } from '../../../lib/interfaces/lock-options.interface.js';
import {
  DEFAULT_SETTINGS,
  parseTtl,
  resolveSettings,
} from '../../../lib/options/resolve-settings.js';

const resolve = (options: unknown, clockSkew = 0): ReturnType<typeof resolveSettings> =>
  resolveSettings(DEFAULT_SETTINGS, options as AcquireOptions, clockSkew);

describe('resolveSettings', () => {
  it('has the documented defaults', () => {
    expect(DEFAULT_SETTINGS).toEqual({
      ttl: 30_000,
      wait: 5_000,
      autoExtend: true,
      retry: { min: 10, max: 800, factor: 1.5, jitter: 0.2 },
      reentrant: true,
      minHold: 0,
      maxHold: Infinity,
      maxWaiters: Infinity,
      handover: true,
      signal: undefined,
    });
  });

  it('gives the very defaults where there are no options, so that nothing is allocated', () => {
    expect(resolve(undefined)).toBe(DEFAULT_SETTINGS);
  });

  it('takes what is given over the defaults, and undefined for not given', () => {
    const { signal } = new AbortController();
    expect(
      resolve({ ttl: '1m', wait: undefined, retry: undefined, reentrant: false, signal }),
    ).toEqual({
      ...DEFAULT_SETTINGS,
      ttl: 60_000,
      reentrant: false,
      signal,
    });
  });

  it('merges retry part by part', () => {
    expect(resolve({ retry: { max: '2s', jitter: undefined } }).retry).toEqual({
      min: 10,
      max: 2_000,
      factor: 1.5,
      jitter: 0.2,
    });
  });

  it.each<[AcquireOptions, Partial<ReturnType<typeof resolve>>]>([
    [{ ttl: 30 }, { ttl: 30 }],
    [{ ttl: '5 minutes' }, { ttl: 300_000 }],
    [{ ttl: '45' }, { ttl: 45 }],
    [{ ttl: 99.2 }, { ttl: 100 }],
    [{ wait: 0 }, { wait: 0 }],
    [{ wait: '0' }, { wait: 0 }],
    [{ wait: Infinity }, { wait: Infinity }],
    [{ minHold: '1m' }, { minHold: 60_000 }],
    [{ maxHold: Infinity }, { maxHold: Infinity }],
    [
      { maxHold: '10s', minHold: '10s' },
      { maxHold: 10_000, minHold: 10_000 },
    ],
    [{ maxWaiters: 0 }, { maxWaiters: 0 }],
    [{ maxWaiters: Infinity }, { maxWaiters: Infinity }],
    [
      { handover: false, autoExtend: false },
      { handover: false, autoExtend: false },
    ],
    [
      { retry: { min: 5, max: 5, factor: 1, jitter: 0 } },
      { retry: { min: 5, max: 5, factor: 1, jitter: 0 } },
    ],
    [{ retry: { jitter: 1 } }, { retry: { ...DEFAULT_SETTINGS.retry, jitter: 1 } }],
  ])('takes %o', (options, expected) => {
    expect(resolve(options)).toEqual({ ...DEFAULT_SETTINGS, ...expected });
  });

  const tooShort = 'finite and at least 30 ms';
  it.each<[unknown, string, string]>([
    [{ ttl: 29 }, '`ttl` is 29;', tooShort],
    [{ ttl: 0 }, '`ttl` is 0;', tooShort],
    [{ ttl: -1 }, '`ttl` is -1;', tooShort],
    [{ ttl: '-5s' }, '`ttl` is "-5s";', tooShort],
    [{ ttl: '20ms' }, '`ttl` is "20ms";', tooShort],
    [{ ttl: Number.NaN }, '`ttl` is NaN;', tooShort],
    [{ ttl: Infinity }, '`ttl` is Infinity;', tooShort],
    [{ ttl: 1e300 }, '`ttl` is 1e+300;', tooShort],
    [{ ttl: 'abc' }, '`ttl` is "abc";', "milliseconds, or a string such as '30s'"],
    [{ ttl: '' }, '`ttl` is "";', tooShort],
    [{ ttl: '1'.repeat(200) }, '`ttl` is a string of 200 characters;', tooShort],
    [{ ttl: 'Infinity' }, '`ttl` is "Infinity";', tooShort],
    [{ ttl: null }, '`ttl` is null;', tooShort],
    [{ ttl: 30_000n }, '`ttl` is 30000;', tooShort],
    [{ ttl: { secret: 1 } }, '`ttl` is a plain object;', tooShort],
    [{ wait: -1 }, '`wait` is -1;', 'at least 0; Infinity never gives up'],
    [{ wait: Number.NaN }, '`wait` is NaN;', 'at least 0'],
    [{ wait: 'later' }, '`wait` is "later";', 'a duration'],
    [{ wait: -Infinity }, '`wait` is -Infinity;', 'at least 0'],
    [{ autoExtend: 1 }, '`autoExtend` is 1;', 'true or false'],
    [{ reentrant: 'no' }, '`reentrant` is "no";', 'true or false'],
    [{ handover: {} }, '`handover` is a plain object;', 'true or false'],
    [{ minHold: -1 }, '`minHold` is -1;', 'finite and at least 0'],
    [{ minHold: Infinity }, '`minHold` is Infinity;', 'finite and at least 0'],
    [{ maxHold: 0 }, '`maxHold` is 0;', 'more than 0; Infinity for none'],
    [{ maxHold: '-1s' }, '`maxHold` is "-1s";', 'more than 0'],
    [{ minHold: '2s', maxHold: '1s' }, '`maxHold` is 1 s;', 'at least `minHold`, which is 2 s'],
    [{ maxWaiters: -1 }, '`maxWaiters` is -1;', 'a whole number of at least 0; Infinity for none'],
    [{ maxWaiters: 1.5 }, '`maxWaiters` is 1.5;', 'a whole number'],
    [{ maxWaiters: '5' }, '`maxWaiters` is "5";', 'a whole number'],
    [{ signal: {} }, '`signal` is a plain object;', 'an AbortSignal'],
    [{ signal: null }, '`signal` is null;', 'an AbortSignal'],
    [
      { signal: new AbortController() },
      '`signal` is an instance of AbortController;',
      'an AbortSignal',
    ],
    [{ retry: 5 }, '`retry` is 5;', 'an object'],
    [{ retry: [] }, '`retry` is an array;', 'an object'],
    [{ retry: { min: 0 } }, '`retry.min` is 0;', 'more than 0'],
    [{ retry: { max: Infinity } }, '`retry.max` is Infinity;', 'a duration'],
    [{ retry: { min: '1s' } }, '`retry.max` is 800 ms;', 'at least `retry.min`, which is 1 s'],
    [{ retry: { factor: 0.9 } }, '`retry.factor` is 0.9;', 'at least 1'],
    [{ retry: { factor: Infinity } }, '`retry.factor` is Infinity;', 'at least 1'],
    [{ retry: { jitter: -0.1 } }, '`retry.jitter` is -0.1;', 'from 0 to 1'],
    [{ retry: { jitter: 1.1 } }, '`retry.jitter` is 1.1;', 'from 0 to 1'],
    [{ retry: { jitter: Number.NaN } }, '`retry.jitter` is NaN;', 'from 0 to 1'],
    [{ retry: { mn: 1 } }, 'Unknown option `retry.mn`;', 'did you mean `retry.min`?'],
    [{ tll: 1 }, 'Unknown option `tll`;', 'did you mean `ttl`?'],
    [{ autoextend: true }, 'Unknown option `autoextend`;', 'did you mean `autoExtend`?'],
    [{ timeout: 1 }, 'Unknown option `timeout`;', 'the options are ttl, wait, autoExtend, retry,'],
    [{ constructor: 1 }, 'Unknown option `constructor`;', 'the options are'],
    [null, '`options` is null;', 'an object'],
    ['30s', '`options` is "30s";', 'an object'],
    [[], '`options` is an array;', 'an object'],
  ])('refuses %o', (options, found, allowed) => {
    expect(() => resolve(options)).toThrow(LockConfigError);
    expect(() => resolve(options)).toThrow(found);
    expect(() => resolve(options)).toThrow(allowed);
  });

  it('wants a ttl that leaves room for the clock skew, wherever it comes from', () => {
    expect(resolve({ ttl: 201 }, 100).ttl).toBe(201);
    expect(() => resolve({ ttl: 200 }, 100)).toThrow(
      'Option `ttl` is 200 ms; it must be more than twice `clockSkew`, which is 100 ms',
    );
    expect(() => resolve({}, 20_000)).toThrow(LockConfigError);
  });

  it('checks a call against what the module says', () => {
    const defaults = { ...DEFAULT_SETTINGS, maxHold: 1_000 };
    expect(() => resolveSettings(defaults, { minHold: 2_000 }, 0)).toThrow(/`maxHold` is 1 s/);
    expect(resolveSettings(defaults, { minHold: 2_000, maxHold: Infinity }, 0)).toMatchObject({
      maxHold: Infinity,
    });
  });

  it('never changes the defaults', () => {
    const before = structuredClone(DEFAULT_SETTINGS);
    resolve({ ttl: 50, retry: { min: 1 } });
    expect(DEFAULT_SETTINGS).toEqual(before);
  });
});

describe('parseTtl', () => {
  it('reads the ttl given to extend by the same rules', () => {
    expect(parseTtl('2s', 0)).toBe(2_000);
    expect(() => parseTtl(29, 0)).toThrow('`ttl` is 29;');
    expect(() => parseTtl(Infinity, 0)).toThrow(LockConfigError);
    expect(() => parseTtl(100, 50)).toThrow('more than twice `clockSkew`');
  });
});
