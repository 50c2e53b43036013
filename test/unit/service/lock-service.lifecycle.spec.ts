import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import { MemoryLockDriver } from '../../../lib/drivers/memory/memory-lock.driver.js';
import { LockClosedError } from '../../../lib/errors/lock-closed.error.js';
import { LockConfigError } from '../../../lib/errors/lock-config.error.js';
import { LockDriverError } from '../../../lib/errors/lock-driver.error.js';
import type { LockDriver } from '../../../lib/interfaces/lock-driver.interface.js';
import { LockService } from '../../../lib/lock.service.js';

class ConnectedDriver extends MemoryLockDriver implements LockDriver {
  readonly connect = vi.fn<() => Promise<readonly string[] | void>>().mockResolvedValue();
  readonly close = vi.fn<() => Promise<void>>().mockResolvedValue();
}

let driver: ConnectedDriver;
let warn: MockInstance<Logger['warn']>;

beforeEach(() => {
  driver = new ConnectedDriver();
  warn = vi.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

describe('boot', () => {
  it('connects the driver, once', async () => {
    const locks = new LockService(driver);
    expect(driver.connect).not.toHaveBeenCalled();
    await Promise.all([locks.onModuleInit(), locks.onModuleInit()]);
    expect(driver.connect).toHaveBeenCalledOnce();
    await locks.onApplicationShutdown();
  });

  it('fails with the reason if the driver cannot connect, and leaves nothing behind', async () => {
    const failure = new Error('ECONNREFUSED 127.0.0.1:6379');
    driver.connect.mockRejectedValue(failure);
    driver.close.mockRejectedValue(new Error('was never open'));
    const locks = new LockService(driver);
    const boot = locks.onModuleInit();
    await expect(boot).rejects.toBeInstanceOf(LockDriverError);
    await expect(boot).rejects.toMatchObject({
      message: expect.stringMatching(
        /^The lock driver `memory` could not connect: ECONNREFUSED 127.0.0.1:6379. Check/,
      ),
      cause: failure,
    });
    expect(driver.close).toHaveBeenCalledOnce();
    await expect(locks.acquire('a')).rejects.toBeInstanceOf(LockClosedError);
    await locks.onApplicationShutdown();
    expect(driver.close).toHaveBeenCalledOnce();
    expect(warn).not.toHaveBeenCalled();
  });

  it('logs what the driver warns of', async () => {
    driver.connect.mockResolvedValue(['it may evict locks', 'it is slow']);
    const locks = new LockService(driver);
    await locks.onModuleInit();
    expect(warn.mock.calls).toEqual([['it may evict locks'], ['it is slow']]);
    await locks.onApplicationShutdown();
  });

  it('fails with a mistake in the set-up as the driver tells it', async () => {
    const mistake = new LockConfigError('the client is not connected');
    driver.connect.mockRejectedValue(mistake);
    await expect(new LockService(driver).onModuleInit()).rejects.toBe(mistake);
    expect(driver.close).toHaveBeenCalledOnce();
  });

  it('warns of the memory driver in production', async () => {
    vi.stubEnv('NODE_ENV', 'production');
    await new LockService(new MemoryLockDriver()).onModuleInit();
    expect(warn.mock.calls).toEqual([[expect.stringContaining('singleProcess: true')]]);
  });

  it.each<[string, LockDriver, string]>([
    [
      'in production, if there is one process',
      new MemoryLockDriver({ singleProcess: true }),
      'production',
    ],
    ['in development', new MemoryLockDriver(), 'development'],
    ['of other drivers', Object.assign(new MemoryLockDriver(), { name: 'redis' }), 'production'],
  ])('does not warn %s', async (_, quiet, environment) => {
    vi.stubEnv('NODE_ENV', environment);
    await new LockService(quiet).onModuleInit();
    expect(warn).not.toHaveBeenCalled();
  });
});

describe('shutdown', () => {
  it('closes the driver, once, and grants nothing any more', async () => {
    const locks = new LockService(driver);
    await locks.onModuleInit();
    await locks.beforeApplicationShutdown();
    await Promise.all([locks.onApplicationShutdown(), locks.onApplicationShutdown()]);
    await locks.onApplicationShutdown();
    expect(driver.close).toHaveBeenCalledOnce();
    await expect(locks.acquire('a')).rejects.toBeInstanceOf(LockClosedError);
    await expect(locks.tryAcquire('a')).rejects.toBeInstanceOf(LockClosedError);
  });

  it('still grants while it drains', async () => {
    const locks = new LockService(driver);
    const held = await locks.acquire('a');
    const drained = locks.beforeApplicationShutdown();
    await (await locks.acquire('b')).release();
    await held.release();
    await drained;
    await locks.onApplicationShutdown();
    expect(driver.list()).toEqual([]);
  });

  it('takes drain times that are longer than a timer can be, and leaves no timer', async () => {
    const setTimeout = vi.spyOn(globalThis, 'setTimeout');
    const clearTimeout = vi.spyOn(globalThis, 'clearTimeout');
    const locks = new LockService({ driver, drainTimeout: '60d' });
    await locks.beforeApplicationShutdown();
    expect(setTimeout.mock.calls.map(([, ms]) => ms)).toEqual([2 ** 31 - 1]);
    await locks.onApplicationShutdown();
    expect(clearTimeout).toHaveBeenCalledWith(setTimeout.mock.results[0]?.value);
  });

  it('closes the driver only after the last release', async () => {
    const locks = new LockService(driver);
    const held = await locks.acquire('a');
    driver.close.mockImplementation(async () => expect(driver.list()).toEqual([]));
    const disposed = locks[Symbol.asyncDispose]();
    await held.release();
    await disposed;
    expect(driver.close).toHaveBeenCalledOnce();
    expect(warn).not.toHaveBeenCalled();
  });

  it('logs what fails and goes on', async () => {
    const locks = new LockService({ driver, name: 'billing' });
    await locks.onModuleInit();
    vi.spyOn(locks.engine, 'drain').mockRejectedValue(new Error('drain broke'));
    vi.spyOn(locks.engine, 'stop').mockRejectedValue(new Error('stop broke'));
    driver.close.mockRejectedValue(new Error('Connection is closed.'));
    await locks[Symbol.asyncDispose]();
    expect(warn.mock.calls.map(([message]) => message)).toEqual([
      expect.stringMatching(/^Draining failed at shutdown: drain broke/),
      expect.stringMatching(/^Stopping failed at shutdown: stop broke/),
      expect.stringMatching(/^Closing the driver failed at shutdown: Connection is closed./),
    ]);
  });

  it('waits for a connect that is still under way before it closes', async () => {
    let connected!: () => void;
    driver.connect.mockReturnValue(new Promise((resolve) => (connected = resolve)));
    const locks = new LockService(driver);
    const boot = locks.onModuleInit();
    const shutdown = locks.onApplicationShutdown();
    await new Promise((resolve) => setImmediate(resolve));
    expect(driver.close).not.toHaveBeenCalled();
    connected();
    await Promise.all([boot, shutdown]);
    expect(driver.close).toHaveBeenCalledOnce();
  });

  it('works for drivers that have nothing to connect or close', async () => {
    const locks = new LockService(new MemoryLockDriver());
    await locks.onModuleInit();
    await locks[Symbol.asyncDispose]();
    expect(warn).not.toHaveBeenCalled();
  });
});

describe('a driver that several services share', () => {
  it('is closed by the last of them', async () => {
    const [first, second] = [new LockService(driver), new LockService({ driver, name: 'second' })];
    await Promise.all([first.onModuleInit(), second.onModuleInit()]);
    await first.onApplicationShutdown();
    expect(driver.close).not.toHaveBeenCalled();
    await (await second.acquire('a')).release();
    await second.onApplicationShutdown();
    expect(driver.close).toHaveBeenCalledOnce();
  });

  it('is not kept open by one that was never booted', async () => {
    const booted = new LockService(driver);
    const forgotten = new LockService(driver);
    await booted.onModuleInit();
    await booted.onApplicationShutdown();
    expect(driver.close).toHaveBeenCalledOnce();
    expect(forgotten.options.driver).toBe(driver);
  });

  it('is closed by one that was never booted, if it is alone', async () => {
    await new LockService(driver)[Symbol.asyncDispose]();
    expect(driver.close).toHaveBeenCalledOnce();
  });
});
