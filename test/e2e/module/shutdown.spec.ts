import { once } from 'node:events';
import { Controller, Get, type INestApplication, Inject, Logger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import {
  DistributedLockModule,
  LockClosedError,
  type LockEvent,
  type LockHandle,
  LockLostError,
  LockService,
} from 'nestjs-distributed-lock';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { boot, ConnectedDriver, openTimers } from './support.js';

let driver: ConnectedDriver;

beforeEach(() => {
  driver = new ConnectedDriver();
  vi.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
});

afterEach(() => {
  vi.restoreAllMocks();
});

const heldKeys = (): string[] => driver.list().map(({ key }) => key);

/** A promise that the test settles. */
class Deferred {
  resolve!: () => void;
  readonly promise = new Promise<void>((resolve) => (this.resolve = resolve));
}

describe('an application that is closed', () => {
  it('leaves no lock, timer or listener behind', async () => {
    const timers = openTimers();
    const app = await boot({
      imports: [DistributedLockModule.forRoot({ driver, ttl: 1_000, drainTimeout: '1m' })],
    });
    const locks = app.get(LockService);
    locks.events$.subscribe();
    const lock = await locks.acquire(['a', 'b']);
    const waiting = locks.withLock('a', () => 'got it');
    expect(timers.size).toBeGreaterThan(0);
    const closed = app.close();
    await lock.release();
    await expect(waiting).resolves.toBe('got it');
    await closed;
    expect(driver.close).toHaveBeenCalledOnce();
    expect(heldKeys()).toEqual([]);
    expect(locks.events.observed).toBe(false);
    expect(timers.size).toBe(0);
    expect(driver.listeners).toBe(0);
  });

  it('does so too if work outstays its time', async () => {
    const timers = openTimers();
    const app = await boot({
      imports: [DistributedLockModule.forRoot({ driver, drainTimeout: 50 })],
    });
    await app.get(LockService).acquire('a');
    await app.close();
    expect(timers.size).toBe(0);
    expect(driver.listeners).toBe(0);
  });

  it('tells those who wait and those who come that it is closed', async () => {
    const app = await boot({
      imports: [DistributedLockModule.forRoot({ driver, drainTimeout: 50 })],
    });
    const locks = app.get(LockService);
    await locks.acquire('a');
    const waiting = locks.acquire('a', { wait: Infinity });
    await Promise.all([app.close(), expect(waiting).rejects.toBeInstanceOf(LockClosedError)]);
    await expect(locks.acquire('b')).rejects.toBeInstanceOf(LockClosedError);
  });

  it('gives work its time, then its signal, and never releases the lock under it', async () => {
    const app = await boot({
      imports: [DistributedLockModule.forRoot({ driver, drainTimeout: 200 })],
    });
    const finish = new Deferred();
    const started = new Deferred();
    let lock!: LockHandle;
    const work = app.get(LockService).withLock('a', async (handle) => {
      lock = handle;
      started.resolve();
      await finish.promise;
      return 'done';
    });
    const outcome = work.catch((error: unknown) => error);
    await started.promise;
    const startedClosing = performance.now();
    const aborted = once(lock.signal, 'abort').then(() => performance.now() - startedClosing);
    await app.close();
    // Timers may be a millisecond early.
    expect(await aborted).toBeGreaterThanOrEqual(199);
    expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'stopped' });
    expect(heldKeys()).toEqual(['a']);
    finish.resolve();
    expect(await outcome).toBeInstanceOf(LockLostError);
  });

  it('completes events$ after the last event', async () => {
    const app = await boot({
      imports: [DistributedLockModule.forRoot({ driver, drainTimeout: 0 })],
    });
    const locks = app.get(LockService);
    const seen: (LockEvent['type'] | 'complete')[] = [];
    locks.events$.subscribe({
      next: ({ type }) => seen.push(type),
      complete: () => seen.push('complete'),
    });
    await locks.acquire('a');
    await app.close();
    expect(seen).toEqual(['acquired', 'lost', 'complete']);
  });

  it('does not mind a driver whose connection is gone already', async () => {
    const warn = vi.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const app = await boot({ imports: [DistributedLockModule.forRoot(driver)] });
    driver.close.mockRejectedValue(new Error('Connection is closed.'));
    await app.close();
    expect(warn.mock.calls).toEqual([[expect.stringContaining('Connection is closed.')]]);
  });

  it('drains all instances that share a driver before that is closed', async () => {
    const app = await boot({
      imports: [
        DistributedLockModule.forRoot(driver),
        DistributedLockModule.forRoot({ driver, name: 'second' }),
      ],
    });
    await app.close();
    expect(driver.close).toHaveBeenCalledOnce();
  });
});

async function get(app: INestApplication): Promise<Response> {
  return fetch(await app.getUrl(), { headers: { connection: 'close' } });
}

describe.each([
  ['express', () => new ExpressAdapter()],
  ['fastify', () => new FastifyAdapter()],
])('a server on %s that is closed', (_, adapter) => {
  const inHandler = vi.fn<(lock: LockHandle) => Promise<unknown>>();

  @Controller()
  class SlowController {
    constructor(@Inject(LockService) private readonly locks: LockService) {}

    @Get()
    slow(): Promise<unknown> {
      return this.locks.withLock('a', inHandler);
    }
  }

  async function serve(drainTimeout: number): Promise<INestApplication> {
    @Module({
      imports: [DistributedLockModule.forRoot({ driver, drainTimeout })],
      controllers: [SlowController],
    })
    class AppModule {}

    const app = await NestFactory.create(AppModule, adapter(), {
      logger: false,
      abortOnError: false,
    });
    return app.listen(0, '127.0.0.1').then(() => app);
  }

  it('lets a handler finish under its lock', async () => {
    const finish = new Deferred();
    inHandler.mockImplementation(() => finish.promise.then(() => 'done'));
    const app = await serve(60_000);
    const answer = get(app);
    await vi.waitFor(() => expect(heldKeys()).toEqual(['a']));
    const closed = app.close();
    finish.resolve();
    expect(await (await answer).text()).toBe('done');
    await closed;
    expect(heldKeys()).toEqual([]);
  });

  it('gives a handler that outstays its time the signal, although the server waits for it', async () => {
    inHandler.mockImplementation((lock) => once(lock.signal, 'abort').then(() => 'stopped'));
    const app = await serve(100);
    const answer = get(app);
    await vi.waitFor(() => expect(heldKeys()).toEqual(['a']));
    await app.close();
    expect((await answer).status).toBe(500);
  });

  it('gives the signal also to one that took its lock after the drain', async () => {
    const app = await serve(1_500);
    inHandler.mockImplementation((lock) => once(lock.signal, 'abort').then(() => 'stopped'));
    const hold = new Deferred();
    const drained = new Deferred();
    const locks = app.get(LockService);
    const drain = locks.beforeApplicationShutdown.bind(locks);
    // Stands for what else the application does between the drain and the closing of the server.
    vi.spyOn(locks, 'beforeApplicationShutdown').mockImplementation(async () => {
      await drain();
      drained.resolve();
      await hold.promise;
    });
    const closed = app.close();
    await drained.promise;
    const answer = get(app);
    await vi.waitFor(() => expect(heldKeys()).toEqual(['a']));
    hold.resolve();
    await closed;
    expect((await answer).status).toBe(500);
  });
});
