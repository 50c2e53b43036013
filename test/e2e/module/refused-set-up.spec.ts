import {
  type DistributedLockModuleAsyncOptions,
  DistributedLockModule,
  LockConfigError,
  type LockDriver,
  LockDriverError,
  MemoryLockDriver,
} from 'nestjs-distributed-lock';
import { describe, expect, it } from 'vitest';
import { boot, ConnectedDriver, moduleOf } from './support.js';

const driver = new MemoryLockDriver();

/** What a user without types may write. */
const forRoot = (options: unknown): unknown => DistributedLockModule.forRoot(options as LockDriver);
const forRootAsync = (options: unknown): unknown =>
  DistributedLockModule.forRootAsync(options as DistributedLockModuleAsyncOptions);

describe('forRoot', () => {
  it.each<[unknown, RegExp]>([
    [undefined, /`driver` is undefined; it must be a lock driver/],
    [MemoryLockDriver, /`driver` is a function/],
    [{}, /`driver` is undefined/],
    [
      { driver: { acquire: () => ({}), renew: () => [] } },
      /it has no release\(\), inspect\(\), list\(\), forceRelease\(\)/,
    ],
    [{ driver, ttl: 5 }, /`ttl` is 5; .* at least 30 ms/],
    [{ driver, tll: 50 }, /Unknown option `tll`; did you mean `ttl`\?/],
    [{ driver, name: '' }, /`name` is ""/],
  ])('refuses %o at once', (options, message) => {
    expect(() => forRoot(options)).toThrow(LockConfigError);
    expect(() => forRoot(options)).toThrow(message);
  });
});

describe('forRootAsync', () => {
  const useFactory = (): LockDriver => driver;

  it.each<[unknown, RegExp]>([
    [undefined, /`options` is undefined; it must be an object/],
    [{}, /exactly one of useFactory, useClass and useExisting, but has 0/],
    [{ useFactory, useClass: MemoryLockDriver }, /but has 2/],
    [
      { useFactory: driver },
      /`useFactory` is an instance of MemoryLockDriver; it must be a function/,
    ],
    [{ useFactory, name: '' }, /`name` is ""/],
    [{ useFactory, isGlobal: 1 }, /`isGlobal` is 1/],
    [{ useFactory, inject: MemoryLockDriver }, /`inject` is a function; it must be an array/],
    [{ useFactory, imports: {} }, /`imports` is a plain object; it must be an array/],
    [
      { useFactory, ttl: 50 },
      /Unknown option `ttl`; the options are name, isGlobal, imports, inject,/,
    ],
    [{ useFactry: useFactory }, /Unknown option `useFactry`; did you mean `useFactory`\?/],
  ])('refuses %o at once', (options, message) => {
    expect(() => forRootAsync(options)).toThrow(LockConfigError);
    expect(() => forRootAsync(options)).toThrow(message);
  });

  it.each<[unknown, RegExp]>([
    [undefined, /gave neither a lock driver nor options/],
    [{}, /`driver` is undefined/],
    [{ driver, ttl: 'abc' }, /`ttl` is "abc"/],
    [{ driver, name: 'billing' }, /`name` must stand beside the factory/],
    [{ driver, isGlobal: false }, /`isGlobal` must stand beside the factory/],
  ])('refuses a factory that gives %o at boot', async (result, message) => {
    const booted = boot({
      imports: [DistributedLockModule.forRootAsync({ useFactory: () => result as LockDriver })],
    });
    await expect(booted).rejects.toThrow(LockConfigError);
    await expect(booted).rejects.toThrow(message);
  });

  it('refuses a class that makes no options', async () => {
    const useClass: unknown = Object;
    const options = { useClass } as DistributedLockModuleAsyncOptions;
    await expect(boot({ imports: [DistributedLockModule.forRootAsync(options)] })).rejects.toThrow(
      /has no method createLockOptions\(\)/,
    );
  });

  it('hands on what the factory throws', async () => {
    const failure = new Error('no configuration');
    const options = { useFactory: () => Promise.reject(failure) };
    await expect(boot({ imports: [DistributedLockModule.forRootAsync(options)] })).rejects.toBe(
      failure,
    );
  });
});

describe('a driver that cannot connect', () => {
  it('fails the boot with its reason', async () => {
    const failing = new ConnectedDriver();
    failing.connect.mockRejectedValue(new Error('ECONNREFUSED'));
    const booted = boot({ imports: [DistributedLockModule.forRoot(failing)] });
    await expect(booted).rejects.toBeInstanceOf(LockDriverError);
    await expect(booted).rejects.toThrow(/`memory` could not connect: ECONNREFUSED. Check/);
    expect(failing.close).toHaveBeenCalledOnce();
  });

  it('takes the other instances down with it, whichever came first', async () => {
    const [before, failing, after] = [
      new ConnectedDriver(),
      new ConnectedDriver(),
      new ConnectedDriver(),
    ];
    failing.connect.mockRejectedValue(new Error('ECONNREFUSED'));
    const booted = boot({
      imports: [
        DistributedLockModule.forRoot({ driver: before, name: 'before' }),
        DistributedLockModule.forRoot({ driver: failing, name: 'failing' }),
        moduleOf({
          imports: [
            DistributedLockModule.forRoot({ driver: after, name: 'after', isGlobal: false }),
          ],
        }),
      ],
    });
    await expect(booted).rejects.toBeInstanceOf(LockDriverError);
    for (const { connect, close } of [before, after]) {
      expect(close.mock.calls.length).toBeGreaterThanOrEqual(connect.mock.calls.length);
    }
    expect(before.close).toHaveBeenCalledOnce();
  });
});
