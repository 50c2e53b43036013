import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { currentLock } from '../../../lib/core/frames.js';
import { LockConfigError } from '../../../lib/errors/lock-config.error.js';
import { LockDriverError } from '../../../lib/errors/lock-driver.error.js';
import { LockKeyError } from '../../../lib/errors/lock-key.error.js';
import { LockQueueFullError } from '../../../lib/errors/lock-queue-full.error.js';
import { LockTimeoutError } from '../../../lib/errors/lock-timeout.error.js';
import type { AcquireOptions } from '../../../lib/interfaces/lock-options.interface.js';
import { LockService, type LockWork } from '../../../lib/lock.service.js';
import { TestLockDriver } from '../../../lib/testing/test-lock.driver.js';

let driver: TestLockDriver;
let locks: LockService;

beforeEach(() => {
  vi.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  driver = new TestLockDriver();
  locks = new LockService(driver);
});

afterEach(async () => {
  await locks.onApplicationShutdown();
  vi.restoreAllMocks();
});

const heldKeys = (): string[] =>
  driver
    .list()
    .map(({ key }) => key)
    .toSorted();

describe('acquire', () => {
  it('takes the lock and gives a handle that releases it', async () => {
    const lock = await locks.acquire('order:7');
    expect(lock.keys).toEqual(['order:7']);
    expect(heldKeys()).toEqual(['order:7']);
    await expect(lock.release()).resolves.toBe(true);
    expect(heldKeys()).toEqual([]);
  });

  it('releases by await using', async () => {
    {
      await using lock = await locks.acquire('order:7');
      expect(lock.held).toBe(true);
    }
    expect(heldKeys()).toEqual([]);
  });

  it('gives the engine the very defaults where there are no options', async () => {
    const acquire = vi.spyOn(locks.engine, 'acquire');
    await (await locks.acquire('a')).release();
    await (await locks.acquire(['a'], undefined)).release();
    expect(acquire.mock.calls.map(([, settings]) => settings === locks.options.defaults)).toEqual([
      true,
      true,
    ]);
  });

  it('takes the options of the call over those of the service', async () => {
    locks = new LockService({ driver, ttl: '10s', wait: 7, retry: { min: 3 } });
    const acquire = vi.spyOn(locks.engine, 'acquire');
    await (await locks.acquire('a', { ttl: '1s', retry: { max: 5 } })).release();
    expect(acquire).toHaveBeenCalledWith('a', expect.objectContaining({ ttl: 1000, wait: 7 }));
    expect(acquire.mock.lastCall?.[1].retry).toMatchObject({ min: 3, max: 5 });
  });

  it('rejects, and does not throw, for what is wrong with keys or options', async () => {
    const wrong: [unknown, unknown, unknown][] = [
      ['', undefined, LockKeyError],
      [undefined, undefined, LockKeyError],
      [[], undefined, LockKeyError],
      [['a', ''], undefined, LockKeyError],
      ['a', { ttl: 'abc' }, LockConfigError],
      ['a', { tll: 1 }, LockConfigError],
      ['a', null, LockConfigError],
    ];
    for (const [keys, options, error] of wrong) {
      await expect(locks.acquire(keys as string, options as AcquireOptions)).rejects.toBeInstanceOf(
        error,
      );
      await expect(
        locks.tryAcquire(keys as string, options as AcquireOptions),
      ).rejects.toBeInstanceOf(error);
      await expect(
        locks.withLock(keys as string, options as AcquireOptions, () => undefined),
      ).rejects.toBeInstanceOf(error);
    }
    expect(driver.calls).toEqual([]);
  });

  it('rejects for what the engine throws at once', async () => {
    await using _ = await locks.acquire('a');
    await expect(locks.acquire('a', { wait: 0 })).rejects.toBeInstanceOf(LockTimeoutError);
    await expect(locks.withLock('a', { wait: 0 }, () => 1)).rejects.toBeInstanceOf(
      LockTimeoutError,
    );
  });

  it('takes several keys in one order, each once, and gives them all back', async () => {
    const lock = await locks.acquire(['b', 'a', 'b']);
    expect(lock.keys).toEqual(['a', 'b']);
    expect(heldKeys()).toEqual(['a', 'b']);
    await lock.release();
    expect(heldKeys()).toEqual([]);
  });

  it('checks the ttl given to extend by the rules of the option', async () => {
    locks = new LockService({ driver, clockSkew: 50 });
    await using lock = await locks.acquire('a');
    await expect(lock.extend('abc')).rejects.toThrow('`ttl` is "abc"');
    await expect(lock.extend(100)).rejects.toThrow('more than twice `clockSkew`');
    await lock.extend('1m');
    expect(driver.inspect('a')?.remaining).toBeGreaterThan(50_000);
  });

  it('names the node in its owners', async () => {
    locks = new LockService({ driver, node: 'pod-7' });
    await using lock = await locks.acquire('a');
    expect(lock.owner).toMatch(/^pod-7#/);
    await expect(locks.acquire('a', { wait: 0 })).rejects.toThrow(
      'a is held by pod-7 (waited 0 ms)',
    );
  });
});

describe('tryAcquire', () => {
  it('gives the handle of a free lock', async () => {
    await using lock = await locks.tryAcquire('a');
    expect(lock?.held).toBe(true);
  });

  it('gives null for a busy lock, without waiting although the default is to wait', async () => {
    locks = new LockService({ driver, wait: Infinity });
    driver.busyNext(Infinity);
    await expect(locks.tryAcquire('a')).resolves.toBeNull();
    await expect(locks.tryAcquire('a', { ttl: '1s' })).resolves.toBeNull();
    await expect(locks.tryAcquire('a', { wait: undefined })).resolves.toBeNull();
    await expect(locks.tryAcquire(['a', 'b'])).resolves.toBeNull();
  });

  it('gives null at once where the caller holds it elsewhere', async () => {
    await using _ = await locks.acquire('a');
    await expect(locks.tryAcquire('a')).resolves.toBeNull();
  });

  it('waits if the call says so', async () => {
    const first = await locks.acquire('a');
    const second = locks.tryAcquire('a', { wait: '10s' });
    await first.release();
    await using lock = await second;
    expect(lock?.held).toBe(true);
  });

  it('rejects for all that is not "busy"', async () => {
    driver.failNext(Infinity);
    await expect(locks.tryAcquire('a')).rejects.toBeInstanceOf(LockDriverError);
    driver.reset();
    await using _ = await locks.acquire('a');
    await expect(locks.tryAcquire('a', { wait: 10, maxWaiters: 0 })).rejects.toBeInstanceOf(
      LockQueueFullError,
    );
    await expect(
      locks.tryAcquire('b', { wait: 10, signal: AbortSignal.abort() }),
    ).rejects.toMatchObject({
      code: 'LOCK_ABORTED',
    });
  });
});

describe('withLock', () => {
  it('runs the work under the lock, gives its result, and releases', async () => {
    const result = await locks.withLock('a', (lock) => {
      expect(lock.keys).toEqual(['a']);
      expect(heldKeys()).toEqual(['a']);
      return 42;
    });
    expect(result).toBe(42);
    expect(heldKeys()).toEqual([]);
  });

  it('takes options before the work, or undefined', async () => {
    const acquire = vi.spyOn(locks.engine, 'acquire');
    await expect(locks.withLock('a', { ttl: '1s' }, async () => 'x')).resolves.toBe('x');
    await expect(locks.withLock('a', undefined, async () => 'y')).resolves.toBe('y');
    expect(acquire.mock.calls.map(([, { ttl }]) => ttl)).toEqual([1_000, 30_000]);
  });

  it('hands on what the work throws, as it is, and releases', async () => {
    const failure = new Error('mine');
    await expect(
      locks.withLock('a', () => {
        throw failure;
      }),
    ).rejects.toBe(failure);
    await expect(locks.withLock(['a', 'b'], () => Promise.reject(failure))).rejects.toBe(failure);
    expect(heldKeys()).toEqual([]);
  });

  it('waits for a busy lock and runs the work then', async () => {
    const first = await locks.acquire('a');
    const work = vi.fn<LockWork<void>>();
    const second = locks.withLock('a', work);
    await Promise.resolve();
    expect(work).not.toHaveBeenCalled();
    await first.release();
    await second;
    expect(work).toHaveBeenCalledOnce();
  });

  it('never runs the work without the lock', async () => {
    const work = vi.fn<LockWork<void>>();
    driver.busyNext(Infinity);
    await expect(locks.withLock('a', { wait: 0 }, work)).rejects.toBeInstanceOf(LockTimeoutError);
    driver.reset();
    driver.failNext(Infinity);
    await expect(locks.withLock('a', { wait: 0 }, work)).rejects.toBeInstanceOf(LockDriverError);
    expect(work).not.toHaveBeenCalled();
  });

  it('says that the work is missing, and locks nothing', async () => {
    const call = locks.withLock.bind(locks) as (...args: unknown[]) => Promise<unknown>;
    await expect(call('a')).rejects.toThrow(LockConfigError);
    await expect(call('a', { ttl: 50 })).rejects.toThrow(/withLock needs a function to run/);
    expect(driver.calls).toEqual([]);
  });

  it('can be entered again by what runs under it', async () => {
    await expect(
      locks.withLock('a', () => locks.withLock('a', { wait: 0 }, () => 'inside')),
    ).resolves.toBe('inside');
  });
});

describe('current', () => {
  it('is the handle that the caller runs under', async () => {
    locks = new LockService({ driver, namespace: 'shop' });
    expect(locks.current()).toBeUndefined();
    await locks.withLock('a', async (a) => {
      await locks.withLock('b', async (b) => {
        await Promise.resolve();
        expect(locks.current()).toBe(b);
        expect(locks.current('a')).toBe(a);
        expect(locks.current('c')).toBeUndefined();
        expect(currentLock()).toBe(b);
        expect(currentLock('shop:a')).toBe(a);
        expect(currentLock('a')).toBeUndefined();
      });
    });
    expect(locks.current('a')).toBeUndefined();
  });

  it('knows nothing of the locks of another service', async () => {
    const other = new LockService(driver);
    await other.withLock('a', (lock) => {
      expect(locks.current()).toBeUndefined();
      expect(currentLock()).toBe(lock);
    });
  });
});

describe('namespace', () => {
  it('stands in what is shown, and not in what is asked for', async () => {
    locks = new LockService({ driver, namespace: 'shop:prod' });
    await using lock = await locks.acquire(['b', 'a']);
    expect(lock.keys).toEqual(['shop:prod:a', 'shop:prod:b']);
    await expect(locks.acquire('a', { wait: 0 })).rejects.toMatchObject({ keys: ['shop:prod:a'] });
    await expect(locks.inspect('a')).resolves.toMatchObject({ key: 'shop:prod:a' });
    await expect(locks.list({ prefix: 'b' })).resolves.toEqual([
      expect.objectContaining({ key: 'shop:prod:b' }),
    ]);
    await expect(locks.forceRelease('a')).resolves.toBe(true);
    expect(heldKeys()).toEqual(['shop:prod:b']);
  });

  it('keeps the locks of tenants apart', async () => {
    let tenant: string | undefined = 'a';
    locks = new LockService({ driver, namespace: () => tenant });
    await using first = await locks.acquire('k');
    tenant = 'a:k';
    await using second = await locks.acquire('k', { wait: 0 });
    expect([...first.keys, ...second.keys]).toEqual(['a:k', 'a%3Ak:k']);
    await expect(locks.list()).resolves.toHaveLength(1);
    tenant = undefined;
    await expect(locks.acquire('k')).rejects.toBeInstanceOf(LockKeyError);
    await expect(locks.list()).rejects.toBeInstanceOf(LockKeyError);
  });

  it('hands on what the function throws', async () => {
    const failure = new Error('no tenant here');
    locks = new LockService({
      driver,
      namespace: () => {
        throw failure;
      },
    });
    await expect(locks.acquire('k')).rejects.toBe(failure);
  });
});

describe('inspect, list and forceRelease', () => {
  it('tell of locks that are held, by whomever', async () => {
    const other = new LockService({ driver, node: 'pod-2' });
    await expect(locks.inspect('a')).resolves.toBeNull();
    await expect(locks.forceRelease('a')).resolves.toBe(false);
    await using lock = await other.acquire('a');
    await expect(locks.inspect('a')).resolves.toMatchObject({ key: 'a', owner: lock.owner });
    await expect(locks.list()).resolves.toEqual([expect.objectContaining({ key: 'a' })]);
    await expect(locks.forceRelease('a')).resolves.toBe(true);
    await expect(locks.inspect('a')).resolves.toBeNull();
  });

  it('list what begins with a prefix, at most as many as asked for', async () => {
    const list = vi.spyOn(driver, 'list');
    await using _ = await locks.acquire(['order:1', 'order:2', 'user:1']);
    await expect(locks.list({ prefix: 'order:' })).resolves.toHaveLength(2);
    await expect(locks.list({ limit: 1 })).resolves.toHaveLength(1);
    expect(list.mock.calls).toEqual([
      [{ prefix: 'order:', limit: 100 }],
      [{ prefix: '', limit: 1 }],
    ]);
  });

  it.each([[{ limit: 0 }], [{ limit: 1.5 }], [{ limit: '5' }], [{ prefix: 7 }], [{ perfix: 'a' }]])(
    'refuse %o',
    async (request) => {
      await expect(locks.list(request as { limit: number })).rejects.toBeInstanceOf(
        LockConfigError,
      );
    },
  );

  it('lose the lock for a holder in this process', async () => {
    const lock = await locks.acquire('a');
    await locks.forceRelease('a');
    expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'forced' });
  });

  it.each([
    [
      'throws',
      (failure: Error) => {
        throw failure;
      },
    ],
    ['rejects', (failure: Error) => Promise.reject(failure)],
  ])('say what the backend said if it %s', async (_, fail) => {
    const failure = new Error('ECONNRESET');
    for (const method of ['inspect', 'list', 'forceRelease'] as const) {
      vi.spyOn(driver, method).mockImplementation((): never => fail(failure) as never);
    }
    const expected = { code: 'LOCK_DRIVER', keys: ['a'], cause: failure };
    await expect(locks.inspect('a')).rejects.toMatchObject({
      ...expected,
      message: 'test failed to inspect: ECONNRESET',
    });
    await expect(locks.forceRelease('a')).rejects.toMatchObject(expected);
    await expect(locks.list()).rejects.toMatchObject({ ...expected, keys: [] });
  });

  it('hand on an error of ours as it is', async () => {
    const failure = new LockDriverError('mine');
    vi.spyOn(driver, 'inspect').mockImplementation(() => {
      throw failure;
    });
    await expect(locks.inspect('a')).rejects.toBe(failure);
  });

  it('refuse a bad key', async () => {
    await expect(locks.inspect('')).rejects.toBeInstanceOf(LockKeyError);
    await expect(locks.forceRelease('')).rejects.toBeInstanceOf(LockKeyError);
  });
});
