import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { EngineHandle } from '../../../lib/core/lock-handle.js';
import { LockLostError, type LockLostReason } from '../../../lib/errors/lock-lost.error.js';
import type { ReleaseRequest } from '../../../lib/interfaces/lock-driver.interface.js';
import { type Fate, follow, LeaseScene, LIFE, TRIES, TTL } from './lease-scene.js';

const [FIRST_TRY] = TRIES as [number];

function reasonOf(signal: AbortSignal): LockLostReason | undefined {
  return signal.reason instanceof LockLostError ? signal.reason.reason : undefined;
}

describe('the signal of a lost lock', () => {
  it.each(['hang', 'reject', 'throw'] as const)(
    'fires at the deadline when all commands of the driver %s from the grant on',
    async (manner) => {
      const scene = new LeaseScene('async');
      const { signal } = await scene.acquire('k');
      Object.assign(scene.driver.manner, { acquire: manner, renew: manner, release: manner });
      const waiting = follow(scene.acquire('k', { wait: Infinity }));
      await scene.clock.advance(LIFE - 1);
      expect(signal.aborted).toBe(false);
      await scene.clock.advance(1);
      expect(reasonOf(signal)).toBe('expired');
      expect(waiting.state).toBe('pending');
    },
  );

  it.each([0, 1000, 2900])(
    'fires before the ttl has passed since the request was sent, its reply having taken %i ms',
    async (delay) => {
      const scene = new LeaseScene('async');
      scene.driver.manner.acquire = 'manual';
      const granted = scene.acquire('k');
      await scene.clock.advance(delay);
      scene.driver.next('acquire').answer();
      const { signal } = await granted;
      scene.driver.manner.renew = 'hang';
      await scene.clock.advance(LIFE - delay);
      expect(scene.time).toBeLessThan(TTL);
      expect(reasonOf(signal)).toBe('expired');
    },
  );

  it('fires before anybody else can have the lock', async () => {
    const scene = new LeaseScene('async');
    const { signal } = await scene.acquire('k');
    scene.driver.manner.renew = 'hang';
    while (scene.driver.inspect('k') !== null) {
      await scene.clock.advance(1);
    }
    expect(signal.aborted).toBe(true);
  });

  it.each(['sync', 'async'] as const)(
    'fires at once when the backend says that the lock is not ours (%s)',
    async (manner) => {
      const scene = new LeaseScene(manner);
      const lock = await scene.acquire('k');
      const { signal } = lock;
      scene.usurp('k');
      await scene.clock.advance(FIRST_TRY - 1);
      expect(signal.aborted).toBe(false);
      await scene.clock.advance(1);
      expect(reasonOf(signal)).toBe('taken');
      expect(lock.held).toBe(false);
    },
  );

  it.each(['sync', 'async'] as const)(
    'fires at once when an extend is told that the lock is not ours (%s)',
    async (manner) => {
      const scene = new LeaseScene(manner);
      const lock = await scene.acquire('k');
      const { signal } = lock;
      scene.usurp('k');
      await expect(lock.extend()).rejects.toBe(await lostBy(lock));
      expect(reasonOf(signal)).toBe('taken');
    },
  );

  it('hits the leases that are lost, not their neighbours in the same call', async () => {
    const scene = new LeaseScene('async');
    const [a, b, c] = [
      await scene.acquire('a'),
      await scene.acquire('b'),
      await scene.acquire('c'),
    ];
    scene.usurp('b');
    await scene.clock.advance(FIRST_TRY);
    expect([a.held, b.held, c.held]).toEqual([true, false, true]);
    await scene.clock.advance(10 * TTL);
    expect([a.held, b.held, c.held]).toEqual([true, false, true]);
  });

  it('is the same for whoever asks, before the loss and after it', async () => {
    const scene = new LeaseScene('async');
    const before = await scene.acquire('a');
    const after = await scene.acquire('b');
    const { signal } = before;
    scene.driver.manner.renew = 'hang';
    await scene.clock.advance(LIFE);
    expect(before.signal).toBe(signal);
    expect(reasonOf(signal)).toBe('expired');
    expect(reasonOf(after.signal)).toBe('expired');
  });

  it('fires once, and its listeners find the lock lost already', async () => {
    const scene = new LeaseScene('async');
    const lock = await scene.acquire('k');
    const seen = vi.fn<() => boolean>(() => lock.held);
    lock.signal.addEventListener('abort', seen);
    scene.driver.manner.renew = 'hang';
    await scene.clock.advance(3 * TTL);
    expect(seen).toHaveBeenCalledTimes(1);
    expect(seen).toHaveReturnedWith(false);
  });

  it('does not fire when the lock is released, then or later', async () => {
    const scene = new LeaseScene('async');
    const lock = await scene.acquire('k');
    const { signal } = lock;
    await lock.release();
    await scene.clock.advance(3 * TTL);
    expect(signal.aborted).toBe(false);
  });

  it('may take the lock again from its listener', async () => {
    const scene = new LeaseScene('async');
    const lock = await scene.acquire('k');
    let again: Promise<EngineHandle> | undefined;
    lock.signal.addEventListener('abort', () => {
      void lock.release();
      again = scene.acquire('k');
    });
    scene.usurp('k');
    await scene.clock.advance(FIRST_TRY);
    scene.driver.backend.forceRelease('k');
    await scene.clock.settle();
    expect((await again!).held).toBe(true);
  });

  it('does not make the engine try twice at once for what its listener takes', async () => {
    const scene = new LeaseScene('async');
    const lock = await scene.acquire('k');
    const leaving = new AbortController();
    void follow(scene.acquire('k', { signal: leaving.signal }));
    await scene.clock.settle();
    let again: Fate<EngineHandle> | undefined;
    lock.signal.addEventListener('abort', () => {
      leaving.abort();
      again = follow(scene.acquire('k', { wait: Infinity }));
    });
    scene.driver.manner.acquire = 'manual';
    scene.usurp('k');
    await scene.clock.advance(FIRST_TRY);
    expect(scene.driver.commands).toHaveLength(1);
    scene.driver.backend.forceRelease('k');
    scene.driver.next('acquire').answer();
    await scene.clock.settle();
    expect(again?.value?.held).toBe(true);
    expect(scene.driver.inspect('k')).toMatchObject({ owner: again!.value!.owner });
    expect(scene.driver.count('release')).toBe(0);
  });

  it('does not make the engine forget a lock that its listener takes', async () => {
    const scene = new LeaseScene('sync');
    const lock = await scene.acquire('k');
    const leaving = new AbortController();
    const waiting = follow(scene.acquire('k', { signal: leaving.signal }));
    let again: Promise<EngineHandle> | undefined;
    lock.signal.addEventListener('abort', () => {
      leaving.abort();
      scene.driver.backend.forceRelease('k');
      again = scene.acquire('k');
    });
    await scene.engine.forceRelease('other');
    scene.usurp('k');
    await scene.clock.advance(FIRST_TRY);
    expect(waiting.state).toBe('rejected');
    const next = await again!;
    expect(next.held).toBe(true);
    const tries = scene.driver.count('acquire');
    await expect(scene.acquire('k', { wait: 0 })).rejects.toMatchObject({ owner: next.owner });
    expect(scene.driver.count('acquire')).toBe(tries);
    await scene.engine.forceRelease('k');
    expect(next.held).toBe(false);
  });
});

async function lostBy(lock: EngineHandle): Promise<unknown> {
  try {
    await lock.extend();
    lock.assertHeld();
    return undefined;
  } catch (error) {
    return error;
  }
}

describe.each(['sync', 'async'] as const)('after a pause, with a driver that is %s,', (manner) => {
  let scene: LeaseScene;
  let lock: EngineHandle;

  beforeEach(async () => {
    scene = new LeaseScene(manner, { handoverMaxTime: Infinity });
    // A key that was locked before has tokens to hand over.
    await (await scene.acquire('k')).release();
    await scene.clock.advance(10);
    lock = await scene.acquire('k');
    scene.driver.calls = [];
  });

  describe.each<[string, () => void]>([
    ['the event loop was blocked', () => scene.clock.block(LIFE)],
    ['the machine was suspended', () => void (scene.clock.suspended = LIFE)],
  ])('in which %s until the deadline,', (_, pause) => {
    it.each<[string, () => unknown, unknown]>([
      ['held', () => lock.held, false],
      ['remaining', () => lock.remaining, 0],
      ['toJSON', () => lock.toJSON().held, false],
      ['lostError', () => lock.lostError()?.reason, 'expired'],
    ])(
      '`%s` says so before any timer has run, and then the signal does',
      (_name, look, expected) => {
        const { signal } = lock;
        pause();
        expect(look()).toBe(expected);
        expect(reasonOf(signal)).toBe('expired');
      },
    );

    it('`assertHeld` throws before any timer has run, and then the signal fires', () => {
      const { signal } = lock;
      pause();
      expect(() => lock.assertHeld()).toThrow(LockLostError);
      expect(reasonOf(signal)).toBe('expired');
    });

    it('`extend` refuses without asking the backend', async () => {
      pause();
      await expect(lock.extend()).rejects.toMatchObject({ reason: 'expired' });
      expect(scene.driver.count('renew')).toBe(0);
    });

    it('the timer tells whoever did not look', async () => {
      const { signal } = lock;
      pause();
      await scene.clock.advance(FIRST_TRY);
      expect(reasonOf(signal)).toBe('expired');
      expect(scene.driver.count('renew')).toBe(0);
    });

    it('the loss is told once, whoever looks', async () => {
      pause();
      expect(lock.held).toBe(false);
      expect(lock.remaining).toBe(0);
      await scene.clock.advance(TTL);
      expect(scene.logged.map(({ type }) => type)).toEqual(['lost']);
    });

    it('work that was paused is told that it ran without its lock', async () => {
      const running = scene.withLock('other', () => {
        pause();
        return 'done';
      });
      await expect(running).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
    });

    it('nobody is the current holder', async () => {
      const current = vi.fn<() => unknown>(() => scene.engine.current());
      const running = scene.withLock('other', () => {
        pause();
        current();
      });
      await expect(running).rejects.toThrow(LockLostError);
      expect(current).toHaveReturnedWith(undefined);
    });

    it('the next in line does not get a lease that has run out', async () => {
      const next = follow(scene.acquire('k', { wait: Infinity }));
      await scene.clock.settle();
      pause();
      await lock.release();
      await scene.clock.advance(1);
      expect(scene.driver.count('acquire')).toBe(1);
      expect(next.value?.owner).not.toBe(lock.owner);
      expect(next.value?.held).toBe(true);
    });
  });

  it('a shorter one costs what it took, no more', async () => {
    scene.clock.block(1000);
    scene.clock.suspended = 500;
    expect(lock.remaining).toBe(LIFE - 1500);
    lock.assertHeld();
    await scene.clock.advance(10 * TTL);
    expect(lock.held).toBe(true);
  });
});

describe.each<[LockLostReason, (scene: LeaseScene) => Promise<unknown>]>([
  [
    'expired',
    (scene) => {
      scene.driver.manner.renew = 'hang';
      return scene.clock.advance(LIFE);
    },
  ],
  [
    'taken',
    (scene) => {
      vi.spyOn(scene.driver, 'renew').mockReturnValueOnce([{ renewed: false }]);
      return scene.clock.advance(FIRST_TRY);
    },
  ],
  ['maxHold', (scene) => scene.clock.advance(1500)],
])('work whose lock is lost (%s)', (reason, lose) => {
  let scene: LeaseScene;

  beforeEach(() => {
    scene = new LeaseScene('async', { maxHold: reason === 'maxHold' ? 1500 : Infinity });
  });

  it('keeps its lock at the backend while it runs, and gives it back when it has ended', async () => {
    let end!: () => void;
    let owner = '';
    const running = follow(
      scene.withLock('k', (lock) => {
        ({ owner } = lock);
        return new Promise<void>((resolve) => (end = resolve));
      }),
    );
    await scene.clock.settle();
    await lose(scene);
    await scene.clock.settle();
    expect(scene.driver.count('release')).toBe(0);
    expect(running.state).toBe('pending');
    end();
    await scene.clock.settle();
    expect(running.error).toMatchObject({ code: 'LOCK_LOST', reason });
    expect(scene.requests<ReleaseRequest>('release')).toEqual([{ key: 'k', owner }]);
    expect(scene.driver.inspect('k')).toBeNull();
  });

  it('keeps it until all that was taken under it has ended too', async () => {
    const lock = await scene.acquire('k');
    const nested = await scene.engine.runUnder(lock, () => scene.acquire('k'));
    await lose(scene);
    expect(await lock.release()).toBe(false);
    await scene.clock.settle();
    expect(scene.driver.count('release')).toBe(0);
    expect(await nested.release()).toBe(false);
    await scene.clock.settle();
    expect(scene.driver.count('release')).toBe(1);
  });

  it('is no longer renewed', async () => {
    await scene.acquire('k');
    await lose(scene);
    const renewals = scene.driver.count('renew');
    await scene.clock.advance(5 * TTL);
    expect(scene.driver.count('renew')).toBe(renewals);
  });

  it('is told once, by one event', async () => {
    const lock = await scene.acquire('k');
    await lose(scene);
    await scene.clock.advance(TTL);
    const lost = scene.logged.filter(({ type }) => type === 'lost');
    expect(lost).toEqual([{ type: 'lost', key: 'k', owner: lock.owner, error: lock.lostError() }]);
  });

  it('is released in vain: `release` is false, however often', async () => {
    const lock = await scene.acquire('k');
    await lose(scene);
    expect(await lock.release()).toBe(false);
    expect(await lock.release()).toBe(false);
    await scene.clock.settle();
    expect(scene.driver.count('release')).toBe(1);
  });

  it('leaves no timer behind once it has ended', async () => {
    const lock = await scene.acquire('k');
    await lose(scene);
    await lock.release();
    await scene.clock.advance(3 * TTL);
    expect(scene.clock.timers).toBe(0);
  });

  it('is asked again behind when the release of its owner gets no answer, until the ttl is over', async () => {
    const lock = await scene.acquire('k');
    await lose(scene);
    scene.driver.manner.release = 'hang';
    await lock.release();
    await scene.clock.advance(3 * TTL);
    expect(scene.driver.count('release')).toBeGreaterThan(2);
    expect(scene.clock.timers).toBe(0);
  });

  it('does not hold up the waiters of this process for longer than the backend does', async () => {
    const lock = await scene.acquire('k');
    const waiting = follow(scene.acquire('k', { wait: Infinity, maxHold: Infinity }));
    await lose(scene);
    await scene.clock.settle();
    expect(waiting.state).toBe('pending');
    scene.driver.manner.renew = 'async';
    await scene.clock.advance(TTL);
    expect(waiting.value?.held).toBe(true);
    expect(waiting.value!.fencingToken).toBeGreaterThan(lock.fencingToken);
    await lock.release();
    await scene.clock.settle();
    expect(waiting.value?.held).toBe(true);
  });
});
