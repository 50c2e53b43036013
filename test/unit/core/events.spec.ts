import { describe, expect, it, vi } from 'vitest';
import { type LockEventListener, LockEvents } from '../../../lib/core/lock-events.js';
import { LockLostError } from '../../../lib/errors/lock-lost.error.js';
import type { LockEvent } from '../../../lib/interfaces/lock-event.interface.js';
import { follow, LeaseScene, LIFE, TRIES, TTL } from './lease-scene.js';

const [FIRST_TRY] = TRIES as [number];

function typesOf(events: readonly LockEvent[]): string[] {
  return events.map(({ type }) => type);
}

describe.each(['sync', 'async'] as const)('events, with a driver that is %s,', (manner) => {
  it('tell of a lock that is acquired, renewed and released', async () => {
    const scene = new LeaseScene(manner, { observed: true });
    const lock = await scene.acquire('k');
    await scene.clock.advance(FIRST_TRY);
    await lock.release();
    await scene.clock.settle();
    const { owner } = lock;
    expect(scene.events).toEqual([
      { type: 'acquired', key: 'k', owner, fencingToken: String(lock.fencingToken), waited: 0 },
      { type: 'renewed', key: 'k', owner },
      { type: 'released', key: 'k', owner, held: FIRST_TRY, handedOver: false },
    ]);
    expect(scene.logged).toEqual([]);
  });

  it('tell of waiting, and of a lock that is handed over', async () => {
    const scene = new LeaseScene(manner, { observed: true });
    await (await scene.acquire('k')).release();
    await scene.clock.advance(10);
    scene.events.length = 0;
    const lock = await scene.acquire('k');
    const next = follow(scene.acquire('k'));
    await scene.clock.advance(50);
    await lock.release();
    await scene.clock.settle();
    const { owner } = lock;
    expect(scene.events).toEqual([
      { type: 'acquired', key: 'k', owner, fencingToken: String(lock.fencingToken), waited: 0 },
      { type: 'waiting', key: 'k', waiters: 1 },
      { type: 'released', key: 'k', owner, held: 50, handedOver: true },
      {
        type: 'acquired',
        key: 'k',
        owner,
        fencingToken: String(next.value!.fencingToken),
        waited: 50,
      },
    ]);
  });

  it('tell of a busy lock and whose it is, at once or after the wait', async () => {
    const scene = new LeaseScene(manner, { observed: true });
    scene.usurp('k');
    await expect(scene.acquire('k', { wait: 0 })).rejects.toThrow('k is held by other:1');
    const waiting = follow(scene.acquire('k', { wait: 400 }));
    await scene.clock.advance(400);
    expect(waiting.state).toBe('rejected');
    const owner = 'other:1#x';
    expect(scene.events).toEqual([
      { type: 'busy', key: 'k', waited: 0, owner },
      { type: 'waiting', key: 'k', waiters: 1 },
      { type: 'busy', key: 'k', waited: 400, owner },
    ]);
  });

  it('tell of doubt and of loss, and log both', async () => {
    const scene = new LeaseScene(manner, { observed: true });
    const lock = await scene.acquire('k');
    scene.driver.manner.renew = 'reject';
    await scene.clock.advance(LIFE);
    const { owner } = lock;
    const trouble = [
      {
        type: 'unknown',
        key: 'k',
        owner,
        during: 'renew',
        cause: expect.objectContaining({ message: 'renew failed' }),
        remaining: LIFE - FIRST_TRY,
      },
      { type: 'lost', key: 'k', owner, error: lock.lostError() },
    ];
    expect(lock.lostError()).toBeInstanceOf(LockLostError);
    expect(scene.events.slice(1)).toEqual(trouble);
    expect(scene.logged).toEqual(trouble);
  });

  it('tell of a release that nobody knows the outcome of, and log it', async () => {
    const scene = new LeaseScene(manner, { observed: true });
    const lock = await scene.acquire('k');
    scene.driver.manner.release = 'reject';
    await lock.release();
    await scene.clock.settle();
    const unknown = {
      type: 'unknown',
      key: 'k',
      owner: lock.owner,
      during: 'release',
      remaining: 0,
    };
    expect(scene.events.slice(1)).toMatchObject([{ type: 'released' }, unknown]);
    expect(scene.logged).toMatchObject([unknown]);
  });

  it('tell once of a lock that is held for ten ttl, and log it', async () => {
    const scene = new LeaseScene(manner, { observed: true });
    const lock = await scene.acquire('k');
    await scene.clock.advance(10 * TTL - 1);
    expect(scene.logged).toEqual([]);
    await scene.clock.advance(40 * TTL);
    const [heldLong] = scene.logged;
    expect(scene.logged).toHaveLength(1);
    expect(heldLong).toMatchObject({ type: 'heldLong', key: 'k', owner: lock.owner });
    expect(heldLong).toHaveProperty('held', expect.any(Number));
    expect((heldLong as { held: number }).held).toBeGreaterThanOrEqual(10 * TTL);
    expect((heldLong as { held: number }).held).toBeLessThan(10.5 * TTL);
    expect(scene.events.filter(({ type }) => type === 'heldLong')).toEqual(scene.logged);
  });

  it('tell once per turn of locks that are held for long', async () => {
    const scene = new LeaseScene(manner);
    for (const key of ['a', 'b']) {
      const lock = await scene.acquire(key);
      await scene.clock.advance(11 * TTL);
      await lock.release();
    }
    expect(scene.logged).toMatchObject([
      { type: 'heldLong', key: 'a' },
      { type: 'heldLong', key: 'b' },
    ]);
  });

  it('tell of a lock that its holder extends for ten ttl', async () => {
    const scene = new LeaseScene(manner, { autoExtend: false });
    const lock = await scene.acquire('k');
    for (let i = 0; i < 30; i++) {
      await scene.clock.advance(TTL / 2);
      await lock.extend();
    }
    expect(scene.logged).toMatchObject([{ type: 'heldLong', key: 'k', held: 10 * TTL }]);
  });

  it('tell of a loss before they tell of the next holder', async () => {
    const scene = new LeaseScene(manner, { observed: true });
    const lock = await scene.acquire('k');
    void follow(scene.acquire('k', { wait: Infinity }));
    await scene.clock.settle();
    scene.driver.backend.forceRelease('k');
    await scene.clock.advance(FIRST_TRY + 100);
    expect(lock.held).toBe(false);
    expect(typesOf(scene.events)).toEqual(['acquired', 'waiting', 'lost', 'acquired']);
  });

  it('are told after the fact, in order, and never in the middle of a call', async () => {
    const scene = new LeaseScene(manner, { observed: true });
    const lock = await scene.acquire('k');
    await scene.clock.settle();
    scene.events.length = 0;
    void lock.release();
    expect(scene.events).toEqual([]);
    await scene.clock.settle();
    expect(typesOf(scene.events)).toEqual(['released']);
  });
});

describe('events that nobody listens to', () => {
  it('are not made, but trouble is logged', async () => {
    const scene = new LeaseScene('async');
    const later = vi.spyOn(globalThis, 'queueMicrotask');
    const lock = await scene.acquire('k');
    const waiting = follow(scene.acquire('k', { wait: 100 }));
    await scene.clock.advance(FIRST_TRY);
    expect(waiting.state).toBe('rejected');
    await lock.release();
    const lost = await scene.acquire('l', { maxHold: 100 });
    await scene.clock.advance(100);
    expect(lost.held).toBe(false);
    const long = await scene.acquire('m', { ttl: 60 });
    await scene.clock.advance(700);
    scene.driver.manner.release = 'reject';
    await long.release();
    expect(later).not.toHaveBeenCalled();
    expect(typesOf(scene.logged)).toEqual(['lost', 'heldLong', 'unknown']);
    later.mockRestore();
  });
});

describe('LockEvents', () => {
  const lease = { key: 'k', owner: 'o' };

  it('are told to every listener until it stops listening', async () => {
    const events = new LockEvents();
    const [first, second] = [vi.fn<LockEventListener>(), vi.fn<LockEventListener>()];
    expect(events.observed).toBe(false);
    const stop = events.listen(first);
    events.listen(second);
    events.renewed(lease);
    await Promise.resolve();
    stop();
    stop();
    events.waiting('k', 2);
    await Promise.resolve();
    expect(first.mock.calls).toEqual([[{ type: 'renewed', key: 'k', owner: 'o' }]]);
    expect(second).toHaveBeenCalledTimes(2);
    expect(events.observed).toBe(true);
  });

  it('are still told when the log fails', async () => {
    const events = new LockEvents(() => {
      throw new Error('disk full');
    });
    const listener = vi.fn<LockEventListener>();
    events.listen(listener);
    const error = new LockLostError({ keys: ['k'], reason: 'taken' });
    expect(() => events.lost(lease, error)).not.toThrow();
    await Promise.resolve();
    expect(listener).toHaveBeenCalledWith({ type: 'lost', key: 'k', owner: 'o', error });
  });

  it('do not keep the engine from losing a lock when the log fails', async () => {
    const scene = new LeaseScene('async');
    vi.spyOn(scene.logged, 'push').mockImplementation(() => {
      throw new Error('disk full');
    });
    const lock = await scene.acquire('k', { maxHold: 100 });
    const next = follow(scene.acquire('k', { wait: Infinity, maxHold: Infinity }));
    await scene.clock.advance(100);
    expect(lock.signal.aborted).toBe(true);
    await lock.release();
    await scene.clock.advance(1000);
    expect(next.value?.held).toBe(true);
  });
});
