import { describe, expect, it } from 'vitest';
import type { EngineHandle } from '../../../lib/core/lock-handle.js';
import { LockQueueFullError } from '../../../lib/errors/lock-queue-full.error.js';
import { LockTimeoutError } from '../../../lib/errors/lock-timeout.error.js';
import { inEverySetting, Scene } from '../../support/scene.js';

inEverySetting('waiting for a lock', (options) => {
  it('serves those who wait in the order they came', async () => {
    const scene = new Scene(options);
    const { here, clock } = scene;
    const first = await here.acquire('k');
    const order: number[] = [];
    const work = [1, 2, 3, 4, 5].map(async (n) => {
      const lock = await here.acquire('k');
      order.push(n);
      await lock.release();
    });

    await clock.settle();
    expect(order).toEqual([]);

    await first.release();
    await clock.settle();
    await Promise.all(work);
    expect(order).toEqual([1, 2, 3, 4, 5]);
  });

  it('gives each of a thousand waiters a handle of its own and a larger token than the one before', async () => {
    const scene = new Scene(options);
    await scene.warmUp();
    const { here, clock } = scene;
    const locks: EngineHandle[] = [];
    const work = Array.from({ length: 1000 }, async () => {
      const lock = await here.acquire('k');
      expect(locks.filter(({ held }) => held)).toEqual([]);
      locks.push(lock);
      await lock.release();
    });

    await clock.settle();
    await Promise.all(work);

    const tokens = locks.map(({ fencingToken }) => fencingToken);
    expect(new Set(locks).size).toBe(1000);
    expect(tokens.every((token, i) => i === 0 || token > tokens[i - 1]!)).toBe(true);
    expect(scene.isLocked()).toBe(false);
  });

  it('says who held the lock, for how long it was waited for, and when to come back', async () => {
    const scene = new Scene(options);
    const { clock, there } = scene;
    const holder = await there.acquire('order:7');
    const waiter = await scene.ask('order:7', { wait: 5000 });

    await clock.advance(4999);
    expect(waiter.settled).toBe(false);
    await clock.advance(1);

    const error = waiter.error as LockTimeoutError;
    expect(error).toBeInstanceOf(LockTimeoutError);
    expect(error.message).toBe('order:7 is held by pod-7:41 (waited 5 s)');
    expect(error.keys).toEqual(['order:7']);
    expect(error.owner).toBe(holder.owner);
    expect(error.waited).toBe(5000);
    expect(error.retryAfter).toBeGreaterThan(0);
    expect(error.retryAfter).toBeLessThanOrEqual(30_000);
  });

  it('names this process when the holder is here', async () => {
    const scene = new Scene(options);
    const holder = await scene.here.acquire('order:7');
    const waiter = await scene.ask('order:7', { wait: 20 });

    await scene.clock.advance(20);

    const error = waiter.error as LockTimeoutError;
    expect(error.message).toBe('order:7 is held by pod-1:7 (waited 20 ms)');
    expect(error.owner).toBe(holder.owner);
    expect(holder.held).toBe(true);
  });

  it('waits for hours where it may', async () => {
    const scene = new Scene(options);
    const holder = await scene.there.acquire('k');
    const waiter = await scene.ask('k', { wait: Infinity });

    await scene.clock.advance(3_600_000);
    expect(waiter.settled).toBe(false);

    await holder.release();
    await scene.clock.advance(10);
    expect(waiter.get().held).toBe(true);
  });

  it('serves the others when one in the middle gives up', async () => {
    const scene = new Scene(options);
    const { here, clock } = scene;
    const holder = await here.acquire('k');
    const first = await scene.ask('k');
    const second = await scene.ask('k', { wait: 10 });
    const third = await scene.ask('k');

    await clock.advance(10);
    expect(second.error).toBeInstanceOf(LockTimeoutError);

    await holder.release();
    await clock.settle();
    await first.get().release();
    await clock.settle();
    expect(third.get().held).toBe(true);
  });

  it('refuses a waiter too many, and counts neither the holder nor those who have left', async () => {
    const scene = new Scene({ ...options, maxWaiters: 2 });
    const { clock, here, driver } = scene;
    await here.acquire('k');
    await scene.ask('k', { wait: 10 });
    await scene.ask('k');
    driver.calls = [];

    const third = await scene.ask('k');
    expect(third.error).toBeInstanceOf(LockQueueFullError);
    expect(third.error).toMatchObject({ keys: ['k'], statusCode: 503 });

    await clock.advance(10);
    const fourth = await scene.ask('k');
    expect(fourth.settled).toBe(false);
    expect(driver.count('acquire')).toBe(0);
  });

  it('keeps the process alive while somebody waits, and only then', async () => {
    const scene = new Scene(options);
    const { clock, there } = scene;
    const holder = await there.acquire('k');
    expect(clock.refTimers).toBe(0);

    const waiter = await scene.ask('k', { wait: Infinity });
    expect(clock.refTimers).toBeGreaterThan(0);

    await holder.release();
    await clock.advance(20);
    expect(waiter.get().held).toBe(true);
    expect(clock.refTimers).toBe(0);
  });

  it('leaves nothing behind when the last one has given up', async () => {
    const scene = new Scene(options);
    const holder = await scene.there.acquire('k');
    const waiters = [await scene.ask('k', { wait: 30 }), await scene.ask('k', { wait: 40 })];

    await scene.clock.advance(40);
    await holder.release();
    await scene.clock.advance(60_000);

    expect(waiters.map(({ error }) => error?.name)).toEqual([
      'LockTimeoutError',
      'LockTimeoutError',
    ]);
    expect(scene.driver.listeners).toBe(0);
    expect(scene.clock.timers).toBe(0);
    expect(scene.isLocked()).toBe(false);
  });
});

describe('a line of waiters', () => {
  it('has one try under way at the backend, however many wait', async () => {
    const scene = new Scene();
    const { clock, driver, there } = scene;
    const holder = await there.acquire('k');
    driver.manner.acquire = 'manual';
    const waiters = [];
    for (let i = 0; i < 50; i++) {
      waiters.push(await scene.ask('k', { wait: Infinity }));
    }

    driver.next('acquire').answer();
    await clock.settle();
    for (let tries = 2; tries <= 20; tries++) {
      expect(driver.commands).toHaveLength(1);
      driver.next('acquire').answer();
      await clock.settle();
      expect(driver.commands).toHaveLength(0);
      await clock.advance(800);
    }

    driver.manner.acquire = 'sync';
    await holder.release();
    driver.next('acquire').answer();
    await clock.settle();
    expect(waiters.filter(({ settled }) => settled)).toHaveLength(1);
  });

  it('keeps one owner through all its tries', async () => {
    const scene = new Scene();
    await scene.there.acquire('k');
    await scene.ask('k');
    await scene.ask('k');

    await scene.clock.advance(3000);

    const owners = scene.driver.calls.map(({ request }) => (request as { owner: string }).owner);
    expect(owners.length).toBeGreaterThan(5);
    expect(new Set(owners).size).toBe(1);
  });
});
