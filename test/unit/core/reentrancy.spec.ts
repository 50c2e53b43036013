import { expect, it } from 'vitest';
import { LockDeadlockError } from '../../../lib/errors/lock-deadlock.error.js';
import { LockTimeoutError } from '../../../lib/errors/lock-timeout.error.js';
import { type Outcome, watch } from '../../support/outcome.js';
import { inEverySetting, Scene } from '../../support/scene.js';

inEverySetting('code that runs under a lock and takes it again', (options) => {
  it('gets it without a round trip, with the same token', async () => {
    const { here, driver } = new Scene(options);

    await here.withLock('k', async (outer) => {
      const calls = driver.calls.length;
      await here.withLock('k', async (inner) => {
        expect(inner.fencingToken).toBe(outer.fencingToken);
        expect(inner.owner).toBe(outer.owner);
        await here.withLock('k', (innermost) => {
          expect(innermost.fencingToken).toBe(outer.fencingToken);
        });
      });
      expect(outer.held).toBe(true);
      expect(driver.calls).toHaveLength(calls);
    });

    expect(driver.count('release')).toBe(1);
  });

  it('gets a handle of its own, whose release leaves the outer one held', async () => {
    const { here, driver } = new Scene(options);

    await here.withLock('k', async (outer) => {
      const inner = await here.acquire('k');
      await expect(inner.release()).resolves.toBe(true);

      expect(inner.held).toBe(false);
      expect(outer.held).toBe(true);
      expect(driver.count('release')).toBe(0);
    });
  });

  it('shares the fate of the turn: one signal for all', async () => {
    const { here } = new Scene(options);

    await here.withLock('k', async (outer) => {
      await here.withLock('k', (inner) => expect(inner.signal).toBe(outer.signal));
    });
  });

  it('joins whatever ttl, autoExtend, minHold or maxHold it asks for', async () => {
    const scene = new Scene(options);
    const { here, driver, clock } = scene;
    const other = { ttl: 1000, autoExtend: false, minHold: 500, maxHold: 10, handover: false };

    const work = here.withLock('k', async (outer) => {
      await here.withLock(
        'k',
        async () => {
          await clock.sleep(100);
        },
        other,
      );
      expect(outer.held).toBe(true);
      expect(outer.remaining).toBeGreaterThan(29_000);
    });
    await clock.advance(100);
    await work;

    expect(driver.calls.at(-1)).toMatchObject({ operation: 'release' });
    expect(driver.calls.at(-1)?.request).not.toHaveProperty('retainFor');
    expect(scene.isLocked()).toBe(false);
  });

  it('takes turns with its siblings, in the order they were called', async () => {
    const { here, clock } = new Scene(options);
    const log: string[] = [];
    const sibling = (name: string): Promise<void> =>
      here.withLock('k', async () => {
        log.push(`${name} begins`);
        await clock.sleep(10);
        log.push(`${name} ends`);
      });

    const work = here.withLock('k', () => Promise.all([sibling('a'), sibling('b'), sibling('c')]));
    await clock.advance(30);
    await work;

    expect(log).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
  });

  it('passes through its own nesting while its siblings wait', async () => {
    const { here, clock } = new Scene(options);
    const log: string[] = [];
    const sibling = (name: string): Promise<void> =>
      here.withLock('k', async () => {
        log.push(name);
        await here.withLock('k', async () => {
          await clock.sleep(10);
          log.push(`${name} inside`);
        });
        log.push(name);
      });

    const work = here.withLock('k', () => Promise.all([sibling('a'), sibling('b')]));
    await clock.advance(20);
    await work;

    expect(log).toEqual(['a', 'a inside', 'a', 'b', 'b inside', 'b']);
  });

  it('is busy among siblings where it does not wait, and late where its wait is over', async () => {
    const scene = new Scene(options);
    const { here, clock } = scene;

    const work = here.withLock('k', async (outer) => {
      const leaf = await here.acquire('k');
      const busy = watch(here.acquire('k', { wait: 0 }));
      const late = watch(here.acquire('k', { wait: 50 }));
      const served = watch(here.acquire('k', { wait: 100 }));
      await clock.sleep(60);
      expect(busy.error).toBeInstanceOf(LockTimeoutError);
      expect(busy.error).toMatchObject({ owner: outer.owner, waited: 0 });
      expect(late.error).toBeInstanceOf(LockTimeoutError);
      expect(late.error).toMatchObject({ owner: outer.owner, waited: 50 });
      await leaf.release();
      await Promise.resolve();
      await served.get().release();
    });
    await clock.advance(60);
    await work;

    expect(scene.isLocked()).toBe(false);
  });

  it('treats a bare acquire as a leaf: a second one waits for it, and what it runs is not inside it', async () => {
    const { here, clock } = new Scene(options);

    await here.withLock('k', async () => {
      const leaf = await here.acquire('k');
      const second = watch(here.acquire('k'));
      await clock.settle();
      expect(second.settled).toBe(false);

      await leaf.release();
      await clock.settle();
      expect(second.get().held).toBe(true);
      await second.get().release();
    });
  });

  it('ends the turn with the last of its tree, not with the outermost body', async () => {
    const scene = new Scene(options);
    const { here, clock, driver } = scene;
    let inner: Promise<void> | undefined;

    await here.withLock('k', async () => {
      inner = here.withLock('k', () => clock.sleep(50));
      await Promise.resolve();
    });
    const newcomer = await scene.ask('k');
    expect(driver.count('release')).toBe(0);
    expect(newcomer.settled).toBe(false);

    await clock.advance(50);
    await inner;
    expect(newcomer.get().held).toBe(true);
  });

  it('serves siblings that still wait when the outermost body is over, and newcomers after them', async () => {
    const scene = new Scene(options);
    const { here, clock, driver } = scene;
    const log: string[] = [];
    const sibling = (name: string): Promise<void> =>
      here.withLock('k', async () => {
        await clock.sleep(10);
        log.push(name);
      });

    await here.withLock('k', () => {
      void sibling('a');
      void sibling('b');
      void sibling('c');
    });
    const newcomer = await scene.ask('k', { wait: Infinity });
    await clock.advance(20);
    expect(newcomer.settled).toBe(false);
    expect(driver.count('release')).toBe(0);

    await clock.advance(10);
    expect(log).toEqual(['a', 'b', 'c']);
    expect(newcomer.get().held).toBe(true);
  });

  it('keeps nothing when a sibling gives up after the outermost body is over', async () => {
    const scene = new Scene(options);
    const { here, clock } = scene;
    const controller = new AbortController();
    let impatient: Outcome<unknown> | undefined;

    await here.withLock('k', () => {
      void here.withLock('k', () => clock.sleep(10));
      impatient = watch(here.acquire('k', { signal: controller.signal }));
    });
    controller.abort();
    await clock.settle();
    expect(impatient?.error?.name).toBe('LockAbortedError');
    expect(scene.isLocked()).toBe(true);

    await clock.advance(10);
    expect(scene.isLocked()).toBe(false);
  });

  it('is a deadlock where it must not be re-entrant', async () => {
    const { here, driver } = new Scene(options);

    await here.withLock('k', async (outer) => {
      const calls = driver.calls.length;
      await expect(here.acquire('k', { reentrant: false })).rejects.toBeInstanceOf(
        LockDeadlockError,
      );
      await expect(here.acquire('k', { reentrant: false, wait: Infinity })).rejects.toMatchObject({
        keys: ['k'],
        code: 'LOCK_DEADLOCK',
      });
      await expect(here.acquire('k', { reentrant: false, wait: 0 })).rejects.toMatchObject({
        code: 'LOCK_TIMEOUT',
        owner: outer.owner,
      });
      expect(driver.calls).toHaveLength(calls);
      expect(outer.held).toBe(true);
    });
  });

  it('is no deadlock for those who are not under it', async () => {
    const scene = new Scene(options);
    const first = await scene.here.acquire('k');
    const second = await scene.ask('k', { reentrant: false });

    await first.release();
    await scene.clock.settle();

    expect(second.get().held).toBe(true);
  });

  it('waits like anybody else for another key', async () => {
    const scene = new Scene(options);
    const { here, clock } = scene;
    const other = await here.acquire('l');

    const work = watch(here.withLock('k', () => here.withLock('l', () => 'done')));
    await clock.settle();
    expect(work.settled).toBe(false);

    await other.release();
    await clock.settle();
    expect(work.get()).toBe('done');
  });

  it('is told at once when the lock is lost, wherever in the tree it waits', async () => {
    const { here, clock } = new Scene(options);
    const queued: Outcome<unknown>[] = [];
    const work = watch(
      here.withLock('k', async () => {
        const child = here.withLock('k', async () => {
          const leaf = await here.acquire('k');
          queued.push(watch(here.acquire('k')));
          await clock.sleep(1000);
          await leaf.release();
        });
        queued.push(watch(here.acquire('k')), watch(here.acquire('k', { wait: Infinity })));
        await child;
      }),
    );
    await clock.settle();
    expect(queued.map(({ settled }) => settled)).toEqual([false, false, false]);

    await here.engine.forceRelease('k');
    await clock.settle();

    expect(queued.map(({ error }) => error?.name)).toEqual([
      'LockLostError',
      'LockLostError',
      'LockLostError',
    ]);
    expect(work.settled).toBe(false);
    await clock.advance(1000);
    expect(work.error?.name).toBe('LockLostError');
  });
});
