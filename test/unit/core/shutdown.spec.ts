import { describe, expect, it } from 'vitest';
import { LockClosedError } from '../../../lib/errors/lock-closed.error.js';
import { LockLostError } from '../../../lib/errors/lock-lost.error.js';
import type { ReleaseResult } from '../../../lib/interfaces/lock-driver.interface.js';
import { watch } from '../../support/outcome.js';
import { inEverySetting, Scene } from '../../support/scene.js';

inEverySetting('draining', (options) => {
  it('waits for what is held at its start', async () => {
    const scene = new Scene(options);
    const [a, b] = [await scene.here.acquire('a'), await scene.here.acquire('b')];
    const drained = watch(scene.here.engine.drain(10_000));

    await a.release();
    await scene.clock.advance(5000);
    expect(drained.settled).toBe(false);

    await b.release();
    await scene.clock.settle();
    expect(drained.settled).toBe(true);
    expect(scene.clock.refTimers).toBe(0);
  });

  it('is over at once where nothing is held', async () => {
    const scene = new Scene(options);

    await expect(scene.here.engine.drain(10_000)).resolves.toBeUndefined();

    expect(scene.clock.timers).toBe(0);
  });

  it('is over when its time is', async () => {
    const scene = new Scene(options);
    const lock = await scene.here.acquire('k');
    const drained = watch(scene.here.engine.drain(10_000));

    await scene.clock.advance(9999);
    expect(drained.settled).toBe(false);
    await scene.clock.advance(1);

    expect(drained.settled).toBe(true);
    expect(lock.held).toBe(true);
  });

  it('still grants, to those who wait and to newcomers, and does not wait for them', async () => {
    const scene = new Scene(options);
    const lock = await scene.here.acquire('k');
    const waiter = await scene.ask('k');
    const drained = watch(scene.here.engine.drain(10_000));

    const newcomer = await scene.ask('l');
    expect(newcomer.get().held).toBe(true);

    await lock.release();
    await scene.clock.settle();
    expect(waiter.get().held).toBe(true);
    expect(drained.settled).toBe(true);
  });

  it('waits for everything under a turn', async () => {
    const scene = new Scene(options);
    const { here, clock } = scene;
    void here.withLock('k', () => {
      void here.withLock('k', () => clock.sleep(100));
    });
    await clock.settle();
    const drained = watch(here.engine.drain(10_000));

    await clock.advance(99);
    expect(drained.settled).toBe(false);
    await clock.advance(1);
    expect(drained.settled).toBe(true);
  });
});

inEverySetting('stopping', (options) => {
  it('turns away those who wait, and whoever comes afterwards', async () => {
    const scene = new Scene(options);
    await scene.there.acquire('k');
    const waiter = await scene.ask('k', { wait: Infinity });
    const behind = await scene.ask('k', { wait: Infinity });

    await scene.here.engine.stop();
    const newcomer = await scene.ask('l');
    const several = watch(scene.here.acquireAll(['l', 'm']));
    await scene.clock.settle();

    for (const { error } of [waiter, behind, newcomer, several]) {
      expect(error).toBeInstanceOf(LockClosedError);
      expect(error).toMatchObject({ statusCode: 503 });
    }
    expect(scene.driver.list()).toHaveLength(1);
    expect(scene.driver.listeners).toBe(0);
  });

  it('turns them away at once, while what is held still has its time', async () => {
    const scene = new Scene(options);
    const lock = await scene.here.acquire('k');
    const waiter = await scene.ask('k', { wait: Infinity });
    void scene.here.engine.drain(10_000);
    const stopped = watch(scene.here.engine.stop());
    await scene.clock.settle();

    expect(waiter.error).toBeInstanceOf(LockClosedError);
    expect(lock.held).toBe(true);
    expect(stopped.settled).toBe(false);

    await lock.release();
    await scene.clock.settle();
    expect(scene.isLocked()).toBe(false);
    expect(stopped.settled).toBe(true);
  });

  it('gives what is held the rest of the time for draining', async () => {
    const scene = new Scene(options);
    const lock = await scene.here.acquire('k');
    const other = await scene.here.acquire('l');
    void scene.here.engine.drain(10_000);
    await scene.clock.advance(4000);
    const stopped = watch(scene.here.engine.stop());

    await scene.clock.advance(5999);
    expect(stopped.settled).toBe(false);
    expect(lock.held).toBe(true);
    await expect(other.release()).resolves.toBe(true);
    await scene.clock.advance(1);

    expect(stopped.settled).toBe(true);
    expect(lock.held).toBe(false);
  });

  it('is done as soon as nothing is held any more', async () => {
    const scene = new Scene(options);
    const lock = await scene.here.acquire('k');
    void scene.here.engine.drain(10_000);
    const stopped = watch(scene.here.engine.stop());
    await scene.clock.advance(100);
    expect(stopped.settled).toBe(false);

    await lock.release();
    await scene.clock.settle();

    expect(stopped.settled).toBe(true);
    expect(scene.isLocked()).toBe(false);
  });

  it('tells what still runs that its lock is lost, and does not release it under its feet', async () => {
    const scene = new Scene(options);
    const lock = await scene.here.acquire('k');
    const { signal } = lock;

    await scene.here.engine.stop();

    expect(signal.aborted).toBe(true);
    expect(signal.reason).toBeInstanceOf(LockLostError);
    expect(signal.reason).toMatchObject({ reason: 'stopped' });
    expect(lock.held).toBe(false);
    expect(scene.driver.count('release')).toBe(0);
    const other = await scene.ask('k', { wait: 0 }, scene.there);
    expect(other.error?.name).toBe('LockTimeoutError');
  });

  it('leaves it to its ttl: it is renewed no more', async () => {
    const scene = new Scene(options);
    await scene.here.acquire('k');

    await scene.here.engine.stop();
    await scene.clock.advance(29_999);
    expect(scene.isLocked()).toBe(true);
    await scene.clock.advance(1);

    expect(scene.isLocked()).toBe(false);
    expect(scene.driver.count('renew')).toBe(0);
  });

  it('gives it back when the work has ended after all', async () => {
    const scene = new Scene(options);
    const { here, clock } = scene;
    const work = watch(here.withLock('k', () => clock.sleep(1000)));
    await clock.settle();

    await here.engine.stop();
    await clock.advance(999);
    expect(scene.isLocked()).toBe(true);
    await clock.advance(1);

    expect(work.error).toMatchObject({ name: 'LockLostError', reason: 'stopped' });
    expect(scene.isLocked()).toBe(false);
    expect(clock.timers).toBe(0);
  });

  it('lets work under a live lock go on taking locks, until its time is over', async () => {
    const scene = new Scene(options);
    const { here, clock } = scene;
    const step = (): Promise<void> => clock.sleep(100);
    const log: string[] = [];
    const work = watch(
      here.withLock('k', async () => {
        await step();
        await here.withLock('k', () => log.push('the same'));
        await here.withLock('l', () => log.push('another'));
        const several = await here.acquireAll(['k', 'm']);
        log.push('several');
        await several.release();
        await step();
      }),
    );
    await clock.settle();
    void here.engine.drain(1000);
    const stopped = watch(here.engine.stop());

    await clock.advance(200);

    expect(work.error).toBeUndefined();
    expect(log).toEqual(['the same', 'another', 'several']);
    expect(stopped.settled).toBe(true);
    expect(scene.driver.list()).toEqual([]);
  });

  it('lets work under a live lock go on waiting, until its time is over', async () => {
    const scene = new Scene(options);
    const { here, clock } = scene;
    const holder = await scene.there.acquire('l');
    await scene.there.acquire('m');
    const served = watch(here.withLock('k', () => here.withLock('l', () => 'served')));
    const late = watch(here.withLock('n', () => here.withLock('m', () => undefined)));
    await clock.settle();
    void here.engine.drain(1000);
    const stopped = watch(here.engine.stop());
    await clock.advance(500);
    expect(served.settled).toBe(false);

    await holder.release();
    await clock.advance(10);
    expect(served.get()).toBe('served');
    expect(stopped.settled).toBe(false);

    await clock.advance(500);
    expect(late.error).toMatchObject({ name: 'LockLostError', reason: 'stopped' });
    expect(late.error?.cause).toBeInstanceOf(LockClosedError);
    expect(stopped.settled).toBe(true);
  });

  it('turns away work under a lock that is lost or released already', async () => {
    const scene = new Scene(options);
    const { here, clock } = scene;
    let go: (() => void) | undefined;
    let detached: Promise<unknown> | undefined;
    await here.withLock('k', () => {
      detached = new Promise<void>((resolve) => (go = resolve)).then(() => here.acquire('l'));
    });
    const outcome = watch(detached!);

    await here.engine.stop();
    go?.();
    await clock.settle();

    expect(outcome.error).toBeInstanceOf(LockClosedError);
  });

  it('leaves no timer and no listener', async () => {
    const scene = new Scene(options);
    const { here, clock, driver } = scene;
    await scene.there.acquire('a');
    await scene.ask('a', { wait: Infinity });
    await here.acquire('b', { maxHold: 60_000 });
    await scene.ask('b', { wait: 60_000 });
    const wanted = await here.acquire('c');
    const other = await scene.ask('c', { wait: Infinity }, scene.there);
    scene.otherDriver.deaf = true;
    await wanted.release();
    driver.manner.acquire = 'hang';
    await scene.ask('d', { wait: Infinity });

    await here.engine.stop();
    await scene.there.engine.stop();

    expect(other.settled).toBe(true);
    expect(clock.timers).toBe(0);
    expect(driver.listeners).toBe(0);
  });

  it('happens once, however often it is asked for', async () => {
    const scene = new Scene(options);
    const lock = await scene.here.acquire('k');
    void scene.here.engine.drain(1000);

    const first = scene.here.engine.stop();
    const second = scene.here.engine.stop();
    expect(second).toBe(first);
    await lock.release();
    await Promise.all([first, second]);
    await scene.here.engine.stop();

    expect(scene.driver.count('release')).toBe(1);
    expect(scene.clock.timers).toBe(0);
  });
});

describe.each([true, false])('stopping while the backend is asked (hand-over: %s)', (handover) => {
  it('turns the caller away and gives back what is granted afterwards', async () => {
    const scene = new Scene({ manner: 'manual', handover });
    scene.driver.manner.release = 'async';
    const waiter = await scene.ask('k', { wait: Infinity });
    const attempt = scene.driver.next('acquire');

    const stopped = watch(scene.here.engine.stop());
    await scene.clock.settle();
    expect(waiter.error).toBeInstanceOf(LockClosedError);
    expect(stopped.settled).toBe(true);
    attempt.answer();
    await scene.clock.settle();

    expect(scene.isLocked()).toBe(false);
    expect(scene.clock.timers).toBe(0);
  });

  it('waits for a release that is under way', async () => {
    const scene = new Scene({ manner: 'async', handover });
    const lock = await scene.here.acquire('k');
    scene.driver.manner.release = 'manual';
    const released = watch(lock.release());
    const stopped = watch(scene.here.engine.stop());
    await scene.clock.settle();
    expect(stopped.settled).toBe(false);

    scene.driver.next('release').answer();
    await scene.clock.settle();

    expect(released.get()).toBe(true);
    expect(stopped.settled).toBe(true);
    expect(scene.clock.timers).toBe(0);
  });

  it('does not stand back for others any more', async () => {
    const scene = new Scene({ manner: 'async', handover });
    const lock = await scene.here.acquire('k');
    scene.driver.manner.release = 'manual';
    void lock.release();
    const stopped = scene.here.engine.stop();
    await scene.clock.settle();

    scene.driver.next<ReleaseResult>('release').answer({ released: true, wantedFor: 500 });
    await stopped;

    expect(scene.clock.timers).toBe(0);
  });

  it('does not wait for ever for a backend that does not answer', async () => {
    const scene = new Scene({ manner: 'async', handover });
    const lock = await scene.here.acquire('k');
    scene.driver.manner.release = 'hang';
    const released = watch(lock.release());
    const stopped = watch(scene.here.engine.stop());

    await scene.clock.advance(6000);

    expect(released.get()).toBe(false);
    expect(stopped.settled).toBe(true);
    expect(scene.clock.timers).toBe(0);
  });
});
