import { describe, expect, it } from 'vitest';
import { currentLock } from '../../../lib/core/frames.js';
import { collectGarbage } from '../../support/garbage-collector.js';
import { watch } from '../../support/outcome.js';
import { inEverySetting, Scene } from '../../support/scene.js';

interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
}

/** A promise that is resolved from outside. */
function deferred<T = void>(): Deferred<T> {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve };
}

inEverySetting('work that is detached from a lock it was started under', (options) => {
  it('does not inherit the lock when that was released', async () => {
    const scene = new Scene(options);
    const { here, clock } = scene;
    let detached: Promise<unknown> | undefined;
    const go = deferred();

    await here.withLock('k', () => {
      detached = go.promise.then(() => here.acquire('k', { wait: 10 }));
    });
    const other = await scene.there.acquire('k');
    go.resolve();
    const outcome = watch(detached!);
    await clock.advance(10);

    expect(other.held).toBe(true);
    expect(outcome.error?.name).toBe('LockTimeoutError');
  });

  it('does not inherit the lock when that was handed over to another turn', async () => {
    const scene = new Scene(options);
    await scene.warmUp();
    const { here, clock } = scene;
    const go = deferred();
    let detached: Promise<unknown> | undefined;
    const first = here.withLock('k', async () => {
      detached = go.promise.then(() => here.acquire('k'));
      await clock.settle();
    });
    const next = await scene.ask('k');
    await first;
    await clock.settle();
    expect(next.get().held).toBe(true);

    go.resolve();
    const outcome = watch(detached!);
    await clock.settle();
    expect(outcome.settled).toBe(false);

    await next.get().release();
    await clock.settle();
    expect(outcome.get()).toMatchObject({ held: true });
  });

  it('does not inherit a lock that was lost', async () => {
    const scene = new Scene(options);
    const { here, clock } = scene;

    const work = watch(
      here.withLock('k', async (lock) => {
        await here.engine.forceRelease('k');
        expect(lock.held).toBe(false);
        await scene.there.acquire('k');
        return here.acquire('k', { wait: 10 });
      }),
    );
    await clock.advance(10);

    expect(work.error?.name).toBe('LockLostError');
    expect(work.error?.cause).toMatchObject({ name: 'LockTimeoutError' });
  });

  it('does not inherit a lock that has run out, though no timer has told so yet', async () => {
    const scene = new Scene({ ...options, ttl: 1000 });
    const { here, clock, driver } = scene;

    await expect(
      here.withLock('k', async () => {
        clock.block(1000);
        const calls = driver.count('acquire');
        const again = await here.acquire('k', { wait: 0 });
        expect(driver.count('acquire')).toBe(calls + 1);
        expect(again.held).toBe(true);
      }),
    ).rejects.toMatchObject({ name: 'LockLostError', reason: 'expired' });
  });

  it('waits for the lock when its own body is over, though others still run under the turn', async () => {
    const scene = new Scene(options);
    const { here, clock } = scene;
    const go = deferred();
    let child: Promise<unknown> | undefined;
    let detached: Promise<unknown> | undefined;
    await here.withLock('k', () => {
      child = here.withLock('k', () => clock.sleep(50));
      detached = go.promise.then(() => here.acquire('k'));
    });

    go.resolve();
    const outcome = watch(detached!);
    await clock.advance(49);
    expect(outcome.settled).toBe(false);

    await clock.advance(1);
    await child;
    expect(outcome.get()).toMatchObject({ held: true });
  });

  it('joins an outer lock that is still held when the inner one is not', async () => {
    const { here, clock, driver } = new Scene(options);
    let detached: Promise<void> | undefined;
    const go = deferred();

    await here.withLock('k', async (outer) => {
      await here.withLock('k', () => {
        detached = go.promise.then(() =>
          here.withLock('k', (lock) => expect(lock.fencingToken).toBe(outer.fencingToken)),
        );
      });
      const calls = driver.calls.length;
      go.resolve();
      await detached;
      await clock.settle();
      expect(driver.calls).toHaveLength(calls);
    });
  });

  it('joins the lock that is still held, of several of which one was lost, however deep it runs', async () => {
    const { here } = new Scene(options);
    const both = await here.acquireAll(['a', 'b']);
    const deep: unknown[] = [];

    const work = here.engine.run(both, async () => {
      await here.engine.forceRelease('b');
      await here.withLock('c', () =>
        here.withLock('a', ({ fencingToken }) => deep.push(fencingToken), { wait: 0 }),
      );
    });

    await expect(work).rejects.toMatchObject({ name: 'LockLostError', keys: ['b'] });
    expect(deep).toEqual([both.fencingTokens[0]]);
  });
});

inEverySetting('the current lock', (options) => {
  it('is the innermost one, or the innermost on a key', async () => {
    const { here } = new Scene(options);
    expect(here.engine.current()).toBeUndefined();
    expect(currentLock()).toBeUndefined();

    await here.withLock('a', async (a) => {
      await here.withLock('b', (b) => {
        expect(here.engine.current()).toBe(b);
        expect(here.engine.current('a')).toBe(a);
        expect(here.engine.current('c')).toBeUndefined();
        expect(currentLock('a')).toBe(a);
      });
      expect(here.engine.current()).toBe(a);
      expect(here.engine.current('b')).toBeUndefined();
    });

    expect(here.engine.current()).toBeUndefined();
  });

  it('is none for a bare acquire: that opens no frame', async () => {
    const { here } = new Scene(options);
    await here.acquire('k');

    expect(here.engine.current('k')).toBeUndefined();
  });

  it('is none once it was lost or released, for whatever still runs under it', async () => {
    const { here } = new Scene(options);

    const work = here.withLock('k', async (lock) => {
      await lock.release();
      expect(here.engine.current()).toBeUndefined();
    });
    await work;
    await expect(
      here.withLock('k', async () => {
        await here.engine.forceRelease('k');
        expect(here.engine.current()).toBeUndefined();
      }),
    ).rejects.toMatchObject({ name: 'LockLostError' });
  });

  it('can be set by running a function under a handle', async () => {
    const { here, driver } = new Scene(options);
    const lock = await here.acquire('k');

    await here.engine.runUnder(lock, async () => {
      expect(here.engine.current()).toBe(lock);
      const calls = driver.calls.length;
      await here.withLock('k', (inner) => expect(inner.fencingToken).toBe(lock.fencingToken));
      expect(driver.calls).toHaveLength(calls);
    });

    expect(lock.held).toBe(true);
    expect(here.engine.current()).toBeUndefined();
  });

  it('belongs to its engine: another one that has a lock of the same name is not joined', async () => {
    const { here, clock } = new Scene(options);
    const stranger = new Scene(options);

    await here.withLock('k', async (mine) => {
      expect(stranger.here.engine.current('k')).toBeUndefined();
      await stranger.here.withLock('k', async (theirs) => {
        expect(theirs.owner).not.toBe(mine.owner);
        expect(here.engine.current('k')).toBe(mine);
        expect(stranger.here.engine.current('k')).toBe(theirs);
        expect(currentLock('k')).toBe(theirs);
        await here.withLock('k', (again) => expect(again.owner).toBe(mine.owner));
      });
      await clock.settle();
      expect(stranger.driver.count('release')).toBe(1);
    });
  });

  it('of another engine at the same backend is not joined: it would be waited for', async () => {
    const scene = new Scene(options);

    await scene.here.withLock('k', async () => {
      await expect(scene.there.acquire('k', { wait: 0 })).rejects.toMatchObject({
        code: 'LOCK_TIMEOUT',
      });
    });
  });
});

describe('frames', () => {
  it('are forgotten when they have died, along chains in which each is opened inside the one before', async () => {
    const { here, clock } = new Scene();
    const seen: WeakRef<object>[] = [];
    const counted = deferred<number>();
    const walk = async (step: number, leave: () => void): Promise<void> => {
      await here.withLock(`k${step}`, async (lock) => {
        seen.push(new WeakRef(lock));
        leave();
        await clock.settle();
        if (step < 200) {
          await new Promise<void>((resolve) => void walk(step + 1, resolve));
        } else {
          collectGarbage();
          counted.resolve(seen.filter((ref) => ref.deref() !== undefined).length);
        }
      });
    };

    void walk(0, () => undefined);

    expect(await counted.promise).toBeLessThan(20);
  });

  it('are forgotten when they have died, along chains of detached work', async () => {
    const { here, clock } = new Scene();
    const seen: WeakRef<object>[] = [];
    const counted = deferred<number>();
    const next = async (step: number): Promise<void> => {
      await clock.settle();
      if (step === 200) {
        collectGarbage();
        counted.resolve(seen.filter((ref) => ref.deref() !== undefined).length);
        return;
      }
      await here.withLock('k', (lock) => {
        seen.push(new WeakRef(lock));
        void next(step + 1);
      });
    };

    void next(0);

    expect(await counted.promise).toBeLessThan(20);
  });
});
