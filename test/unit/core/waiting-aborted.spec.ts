import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { LockAbortedError } from '../../../lib/errors/lock-aborted.error.js';
import { inEverySetting, Scene } from '../../support/scene.js';

inEverySetting("a caller's signal", (options) => {
  it('that has aborted already keeps the backend from being asked', async () => {
    const scene = new Scene(options);
    const reason = new Error('the client went away');

    const waiter = await scene.ask('k', { signal: AbortSignal.abort(reason) });

    expect(waiter.error).toBeInstanceOf(LockAbortedError);
    expect(waiter.error?.cause).toBe(reason);
    expect(scene.driver.calls).toEqual([]);
  });

  it('ends the wait, and nothing but this one wait', async () => {
    const scene = new Scene(options);
    const holder = await scene.there.acquire('k');
    const controller = new AbortController();
    const reason = new Error('the client went away');
    const aborted = await scene.ask('k', { signal: controller.signal });
    const other = await scene.ask('k');

    controller.abort(reason);
    await scene.clock.settle();

    expect(aborted.error).toBeInstanceOf(LockAbortedError);
    expect(aborted.error).toMatchObject({ keys: ['k'], cause: reason });
    expect(other.settled).toBe(false);

    await holder.release();
    await scene.clock.advance(10);
    expect(other.get().held).toBe(true);
  });

  it('does nothing to a lock that is held', async () => {
    const scene = new Scene(options);
    const controller = new AbortController();
    const lock = await scene.here.acquire('k', { signal: controller.signal });

    controller.abort();
    await scene.clock.settle();

    expect(lock.held).toBe(true);
    expect(lock.signal.aborted).toBe(false);
  });

  it('gives the whole wait up when the last one leaves by it', async () => {
    const scene = new Scene(options);
    const holder = await scene.there.acquire('k');
    const controller = new AbortController();
    await scene.ask('k', { signal: controller.signal, wait: Infinity });
    expect(scene.driver.listeners).toBe(1);

    controller.abort();
    await holder.release();
    await scene.clock.settle();

    expect(scene.driver.listeners).toBe(0);
    expect(scene.isLocked()).toBe(false);
    await scene.clock.advance(60_000);
    expect(scene.clock.timers).toBe(0);
  });

  it('is listened to only while it is waited for', async () => {
    const scene = new Scene({ ...options, maxWaiters: 3 });
    const { signal } = new AbortController();
    const listeners = (): number => getEventListeners(signal, 'abort').length;

    const held = await scene.here.acquire('k', { signal });
    expect(listeners()).toBe(0);

    const served = await scene.ask('k', { signal });
    const late = await scene.ask('k', { signal, wait: 10 });
    const early = await scene.ask('k', { signal, wait: 0 });
    await scene.ask('k');
    const tooMany = await scene.ask('k', { signal });
    expect(early.error?.name).toBe('LockTimeoutError');
    expect(tooMany.error?.name).toBe('LockQueueFullError');
    expect(listeners()).toBe(1);

    await scene.clock.advance(10);
    expect(late.error?.name).toBe('LockTimeoutError');
    expect(listeners()).toBe(1);

    await held.release();
    await scene.clock.settle();
    expect(served.get().held).toBe(true);
    expect(listeners()).toBe(0);
  });

  it('is listened to only while it is waited for among siblings', async () => {
    const scene = new Scene(options);
    const { signal } = new AbortController();

    await scene.here.withLock('k', async () => {
      await Promise.all([
        scene.here.withLock('k', () => undefined, { signal }),
        scene.here.withLock('k', () => undefined, { signal }),
      ]);
      expect(getEventListeners(signal, 'abort')).toEqual([]);
    });
  });
});
