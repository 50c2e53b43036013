import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { LockConfigError } from '../../../lib/errors/lock-config.error.js';
import { LockLostError } from '../../../lib/errors/lock-lost.error.js';
import { LockTimeoutError } from '../../../lib/errors/lock-timeout.error.js';
import type { AcquireRequest } from '../../../lib/interfaces/lock-driver.interface.js';
import { watch } from '../../support/outcome.js';
import { inEverySetting, Scene } from '../../support/scene.js';

const lockedKeys = (scene: Scene): string[] =>
  scene.driver
    .list()
    .map(({ key }) => key)
    .toSorted();

const isFor = (key: string, request: unknown): boolean => (request as AcquireRequest).key === key;

inEverySetting('taking several keys', (options) => {
  it('takes them one after the other in the order they are given in', async () => {
    const scene = new Scene(options);

    const lock = await scene.here.acquireAll(['a', 'b', 'c']);

    expect(lock.keys).toEqual(['a', 'b', 'c']);
    const asked = scene.driver.calls.map(({ request }) => (request as AcquireRequest).key);
    expect(asked).toEqual(['a', 'b', 'c']);
    expect(lockedKeys(scene)).toEqual(['a', 'b', 'c']);
  });

  it('holds the first while it waits for the next', async () => {
    const scene = new Scene(options);
    const holder = await scene.there.acquire('b');
    const several = watch(scene.here.acquireAll(['a', 'b', 'c'], { wait: Infinity }));

    await scene.clock.advance(60_000);
    expect(several.settled).toBe(false);
    expect(lockedKeys(scene)).toEqual(['a', 'b']);

    await holder.release();
    await scene.clock.advance(10);
    expect(several.get().held).toBe(true);
  });

  it('gives back what it has when one of them stays busy', async () => {
    const scene = new Scene(options);
    await scene.there.acquire('c');
    const several = watch(scene.here.acquireAll(['a', 'b', 'c'], { wait: 1000 }));

    await scene.clock.advance(1000);

    expect(several.error).toBeInstanceOf(LockTimeoutError);
    expect(several.error?.message).toBe('c is held by pod-7:41 (waited 1 s)');
    expect(lockedKeys(scene)).toEqual(['c']);
  });

  it('gives back what it has at once where it does not wait', async () => {
    const scene = new Scene(options);
    await scene.there.acquire('b');

    const several = watch(scene.here.acquireAll(['a', 'b'], { wait: 0 }));
    await scene.clock.settle();

    expect(several.error).toBeInstanceOf(LockTimeoutError);
    expect(lockedKeys(scene)).toEqual(['b']);
  });

  it('gives back what it has when its caller gives up', async () => {
    const scene = new Scene(options);
    await scene.there.acquire('b');
    const controller = new AbortController();
    const { signal } = controller;
    const several = watch(scene.here.acquireAll(['a', 'b'], { signal }));
    await scene.clock.settle();

    controller.abort();
    await scene.clock.settle();

    expect(several.error?.name).toBe('LockAbortedError');
    expect(lockedKeys(scene)).toEqual(['b']);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('gives back what it has when the backend fails', async () => {
    const scene = new Scene({ ...options, manner: 'async' });
    const several = watch(scene.here.acquireAll(['a', 'b'], { wait: 1000 }));
    await Promise.resolve();
    await Promise.resolve();
    scene.driver.manner.acquire = 'reject';

    await scene.clock.advance(1000);

    expect(several.error?.name).toBe('LockDriverError');
    expect(lockedKeys(scene)).toEqual([]);
  });

  it('keeps nothing for minHold when it fails: nobody has had the lock', async () => {
    const scene = new Scene({ ...options, minHold: 10_000 });
    await scene.there.acquire('b');

    const several = watch(scene.here.acquireAll(['a', 'b'], { wait: 0 }));
    await scene.clock.settle();

    expect(several.error).toBeInstanceOf(LockTimeoutError);
    expect(lockedKeys(scene)).toEqual(['b']);
  });

  it('keeps all of them for minHold when they are released', async () => {
    const scene = new Scene({ ...options, minHold: 10_000 });
    const lock = await scene.here.acquireAll(['a', 'b']);
    await scene.clock.advance(1000);

    await lock.release();

    expect(lockedKeys(scene)).toEqual(['a', 'b']);
    await scene.clock.advance(9000);
    expect(lockedKeys(scene)).toEqual([]);
  });

  it('spends one wait on all of them together', async () => {
    const scene = new Scene(options);
    const [a, b] = [await scene.there.acquire('a'), await scene.there.acquire('b')];
    const several = watch(scene.here.acquireAll(['a', 'b'], { wait: 1000 }));
    await scene.clock.advance(700);
    await a.release();

    await scene.clock.advance(299);
    expect(several.settled).toBe(false);
    await scene.clock.advance(1);

    expect(several.error).toMatchObject({ name: 'LockTimeoutError', owner: b.owner });
    expect(several.error).toMatchObject({ waited: 1000 });
  });

  it('starts over when one of them is lost while the next is waited for', async () => {
    const scene = new Scene(options);
    const holder = await scene.there.acquire('b');
    const several = watch(scene.here.acquireAll(['a', 'b'], { wait: Infinity }));
    await scene.clock.settle();
    await scene.here.engine.forceRelease('a');
    const thief = await scene.there.acquire('a');

    await holder.release();
    await scene.clock.advance(10);
    expect(several.settled).toBe(false);
    expect(lockedKeys(scene)).toEqual(['a']);

    await thief.release();
    await scene.clock.advance(10);
    expect(several.get().held).toBe(true);
    expect(lockedKeys(scene)).toEqual(['a', 'b']);
  });

  it('gives up when one is lost and the wait is over', async () => {
    const scene = new Scene(options);
    const holder = await scene.there.acquire('b');
    const several = watch(scene.here.acquireAll(['a', 'b'], { wait: 1000 }));
    await scene.clock.settle();
    await scene.here.engine.forceRelease('a');
    await scene.there.acquire('a');
    await scene.clock.advance(500);

    await holder.release();
    await scene.clock.advance(500);

    expect(several.settled).toBe(true);
    expect(several.error).toBeDefined();
    expect(lockedKeys(scene)).toEqual(['a']);
  });

  it('never deadlocks with another process that takes some of the same', async () => {
    const scene = new Scene({ ...options, wait: Infinity });
    const sets = [
      ['a', 'b'],
      ['b', 'c'],
      ['a', 'c'],
      ['a', 'b', 'c'],
    ];
    const held = new Set<string>();
    let turns = 0;
    const loop = async (engine: Scene['here'], shift: number): Promise<void> => {
      for (let i = 0; i < 10; i++) {
        const keys = sets[(i + shift) % sets.length]!;
        const lock = await engine.acquireAll(keys);
        expect(keys.filter((key) => held.has(key))).toEqual([]);
        keys.forEach((key) => held.add(key));
        await scene.clock.sleep(2);
        keys.forEach((key) => held.delete(key));
        turns++;
        await lock.release();
      }
    };

    const loops = Promise.all([
      loop(scene.here, 0),
      loop(scene.there, 1),
      loop(scene.here, 2),
      loop(scene.there, 3),
    ]);
    await scene.clock.advance(10_000);
    await loops;

    expect(turns).toBe(40);
    expect(lockedKeys(scene)).toEqual([]);
  });
});

inEverySetting('taking several keys under a lock on some of them', (options) => {
  it('joins what is held and takes the rest', async () => {
    const scene = new Scene(options);
    const { here, driver } = scene;

    await here.withLock('b', async (outer) => {
      const before = driver.count('acquire');
      const several = await here.acquireAll(['a', 'b', 'c']);
      expect(driver.count('acquire')).toBe(before + 2);
      expect(several.fencingTokens[1]).toBe(outer.fencingToken);

      await several.release();
      expect(outer.held).toBe(true);
      expect(lockedKeys(scene)).toEqual(['b']);
    });
  });

  it('is joined in turn by whatever runs under it, key by key', async () => {
    const scene = new Scene(options);
    const { here, driver } = scene;
    const several = await here.acquireAll(['a', 'b']);

    await here.engine.run(several, async () => {
      const calls = driver.calls.length;
      await here.withLock('a', (lock) => expect(lock.fencingToken).toBe(several.fencingTokens[0]));
      await here.withLock('b', (lock) => expect(lock.fencingToken).toBe(several.fencingTokens[1]));
      expect(here.engine.current('b')).toBe(several);
      expect(driver.calls).toHaveLength(calls);
    });

    expect(lockedKeys(scene)).toEqual([]);
  });

  it('puts no limit on the lock that it joins', async () => {
    const { here, clock } = new Scene(options);

    const work = here.withLock('a', async (outer) => {
      await here.acquireAll(['a', 'b'], { maxHold: 10 });
      await clock.sleep(20);
      expect(outer.held).toBe(true);
    });
    await clock.advance(20);

    await expect(work).resolves.toBeUndefined();
  });

  it('leaves no listener on the signal of the lock that it joins', async () => {
    const { here } = new Scene(options);

    await here.withLock('a', async (outer) => {
      for (let i = 0; i < 20; i++) {
        const several = await here.acquireAll(['a', 'b']);
        expect(several.signal.aborted).toBe(false);
        await several.release();
      }
      expect(getEventListeners(outer.signal, 'abort')).toEqual([]);
    });
  });
});

inEverySetting('the handle of several keys', (options) => {
  it('has a token for each key, and none for all', async () => {
    const scene = new Scene(options);

    const lock = await scene.here.acquireAll(['a', 'b']);

    expect(lock.fencingTokens).toHaveLength(2);
    expect(() => lock.fencingToken).toThrow(LockConfigError);
    expect(lock.toJSON()).toEqual({
      keys: ['a', 'b'],
      owner: lock.owner,
      fencingTokens: lock.fencingTokens.map(String),
      held: true,
      remaining: lock.remaining,
    });
    expect(() => JSON.stringify(lock)).not.toThrow();
  });

  it('is held for as long as all of them are', async () => {
    const scene = new Scene(options);
    const { here } = scene;
    const lock = await here.acquireAll(['a', 'b', 'c']);
    const { signal } = lock;
    expect(lock.held).toBe(true);
    expect(() => lock.assertHeld()).not.toThrow();

    await here.engine.forceRelease('b');

    expect(lock.held).toBe(false);
    expect(lock.remaining).toBe(0);
    expect(() => lock.assertHeld()).toThrow(LockLostError);
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toMatchObject({ name: 'LockLostError', keys: ['b'] });
    await expect(lock.release()).resolves.toBe(false);
    expect(lockedKeys(scene)).toEqual([]);
  });

  it('has a signal that tells of a loss before anybody asked for it', async () => {
    const { here } = new Scene(options);
    const lock = await here.acquireAll(['a', 'b']);
    await here.engine.forceRelease('a');

    expect(lock.signal.aborted).toBe(true);
    expect(lock.signal.reason).toMatchObject({ keys: ['a'] });
  });

  it('remains for as long as the first of them does', async () => {
    const scene = new Scene({ ...options, autoExtend: false });
    const b = await scene.there.acquire('b');
    const several = watch(scene.here.acquireAll(['a', 'b']));
    await scene.clock.advance(1000);
    await b.release();
    await scene.clock.advance(10);

    const lock = several.get();
    expect(lock.remaining).toBeLessThanOrEqual(28_700);
    expect(lock.remaining).toBeGreaterThan(28_600);
  });

  it('is extended in all of its keys', async () => {
    const scene = new Scene({ ...options, autoExtend: false });
    const lock = await scene.here.acquireAll(['a', 'b']);
    await scene.clock.advance(1000);

    await lock.extend(60_000);

    expect(lock.remaining).toBeGreaterThan(59_000);
    expect(scene.driver.list().map(({ remaining }) => remaining)).toEqual([60_000, 60_000]);
  });

  it('is released in all of its keys, once', async () => {
    const scene = new Scene(options);
    const lock = await scene.here.acquireAll(['a', 'b']);

    await expect(lock.release()).resolves.toBe(true);
    await expect(lock.release()).resolves.toBe(true);

    expect(scene.driver.count('release')).toBe(2);
    expect(lockedKeys(scene)).toEqual([]);
    expect(lock.held).toBe(false);
    expect(lock.signal.aborted).toBe(false);
  });

  it('is released when its scope ends', async () => {
    const scene = new Scene(options);
    {
      await using lock = await scene.here.acquireAll(['a', 'b']);
      expect(lock.held).toBe(true);
    }
    expect(lockedKeys(scene)).toEqual([]);
  });

  it('counts maxHold from when all of them are held', async () => {
    const scene = new Scene(options);
    const b = await scene.there.acquire('b');
    const several = watch(scene.here.acquireAll(['a', 'b'], { maxHold: 100 }));
    await scene.clock.advance(500);
    await b.release();
    await scene.clock.advance(1);
    expect(several.get().held).toBe(true);
    // The first one was not lost meanwhile and taken anew.
    expect(scene.driver.calls.filter(({ request }) => isFor('a', request))).toHaveLength(1);

    await scene.clock.advance(98);
    expect(several.get().held).toBe(true);
    await scene.clock.advance(10);
    expect(several.get().held).toBe(false);
    expect(several.get().signal.reason).toMatchObject({ reason: 'maxHold' });
  });
});
