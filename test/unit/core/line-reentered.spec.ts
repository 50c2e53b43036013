import { expect, it } from 'vitest';
import { type Outcome, watch } from '../../support/outcome.js';
import { inEverySetting, Scene } from '../../support/scene.js';

inEverySetting('a listener that is told of a loss while the line is changing', (options) => {
  it('may release the lock', async () => {
    const scene = new Scene(options);
    const lock = await scene.here.acquire('k');
    const next = await scene.ask('k', { wait: Infinity });
    let released: Outcome<boolean> | undefined;
    lock.signal.addEventListener('abort', () => (released = watch(lock.release())));

    await scene.here.engine.forceRelease('k');
    await scene.clock.advance(20);

    expect(released?.get()).toBe(false);
    expect(next.get().held).toBe(true);
  });

  it('may ask for the lock again: it comes after those who wait', async () => {
    const scene = new Scene(options);
    const lock = await scene.here.acquire('k');
    const next = await scene.ask('k', { wait: Infinity });
    let again: Outcome<unknown> | undefined;
    lock.signal.addEventListener('abort', () => (again = watch(scene.here.acquire('k'))));

    await scene.here.engine.forceRelease('k');
    await scene.clock.advance(20);
    expect(next.get().held).toBe(true);
    expect(again?.settled).toBe(false);

    await next.get().release();
    await scene.clock.settle();
    expect(again?.get()).toMatchObject({ held: true });
  });

  it('may make the last one that waits leave, and ask for the lock again', async () => {
    const scene = new Scene(options);
    const lock = await scene.here.acquire('k');
    const controller = new AbortController();
    const waiter = await scene.ask('k', { wait: Infinity, signal: controller.signal });
    let again: Outcome<{ held: boolean; release(): Promise<boolean> }> | undefined;
    lock.signal.addEventListener('abort', () => {
      controller.abort();
      again = watch(scene.here.acquire('k'));
    });

    await scene.here.engine.forceRelease('k');
    await scene.clock.advance(20);
    expect(waiter.error?.name).toBe('LockAbortedError');
    expect(again?.get().held).toBe(true);

    // There is still one line for the key: whoever comes now waits behind.
    scene.driver.calls = [];
    const newcomer = await scene.ask('k');
    expect(scene.driver.count('acquire')).toBe(0);
    await again?.get().release();
    await scene.clock.advance(20);
    expect(newcomer.get().held).toBe(true);
  });

  it('may stop the engine', async () => {
    const scene = new Scene(options);
    const lock = await scene.here.acquire('k');
    const waiter = await scene.ask('k', { wait: Infinity });
    let stopped: Outcome<void> | undefined;
    lock.signal.addEventListener('abort', () => (stopped = watch(scene.here.engine.stop())));

    await scene.here.engine.forceRelease('k');
    await scene.clock.advance(2000);

    expect(stopped?.settled).toBe(true);
    expect(waiter.error?.name).toBe('LockClosedError');
    await scene.clock.advance(60_000);
    expect(scene.clock.timers).toBe(0);
    expect(scene.isLocked()).toBe(false);
  });
});

inEverySetting("a listener on a caller's signal", (options) => {
  it('may ask for the lock in place of the one that leaves', async () => {
    const scene = new Scene(options);
    const holder = await scene.there.acquire('k');
    const controller = new AbortController();
    let again: Outcome<unknown> | undefined;
    await scene.ask('k', { signal: controller.signal });
    controller.signal.addEventListener('abort', () => (again = watch(scene.here.acquire('k'))));

    controller.abort();
    await holder.release();
    await scene.clock.advance(20);

    expect(again?.get()).toMatchObject({ held: true });
  });
});

inEverySetting('work whose lock is gone before it begins', (options) => {
  it('is not run where the lock was lost', async () => {
    const scene = new Scene(options);
    const lock = await scene.here.acquire('k');
    await scene.here.engine.forceRelease('k');
    let ran = false;

    const work = watch(scene.here.engine.run(lock, () => (ran = true)));
    await scene.clock.settle();

    expect(work.error?.name).toBe('LockLostError');
    expect(ran).toBe(false);
  });

  it('is not run where the lock ran out while the event loop was blocked', async () => {
    const scene = new Scene({ ...options, ttl: 1000 });
    const lock = await scene.here.acquire('k');
    scene.clock.block(1000);
    let ran = false;

    const work = watch(scene.here.engine.run(lock, () => (ran = true)));
    await scene.clock.settle();

    expect(work.error).toMatchObject({ name: 'LockLostError', reason: 'expired' });
    expect(ran).toBe(false);
  });
});

inEverySetting('work that releases its lock itself', (options) => {
  it('is under it no more: it may take the lock again, as a new turn', async () => {
    const scene = new Scene(options);
    const { here, driver } = scene;

    await here.withLock('k', async (lock) => {
      await lock.release();
      await here.withLock('k', (again) => {
        expect(again.fencingToken).toBeGreaterThan(lock.fencingToken);
      });
    });

    expect(driver.count('acquire')).toBe(2);
    expect(driver.count('release')).toBe(2);
    expect(scene.isLocked()).toBe(false);
  });
});
