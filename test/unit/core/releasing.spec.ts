import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { EngineHandle } from '../../../lib/core/lock-handle.js';
import type { ReleaseRequest } from '../../../lib/interfaces/lock-driver.interface.js';
import { follow, LeaseScene, TTL } from './lease-scene.js';

/** How long an answer to a release is waited for. */
const ANSWER_TIME = TTL / 6;

describe.each(['sync', 'async'] as const)('a release, with a driver that is %s,', (manner) => {
  let scene: LeaseScene;

  beforeEach(() => {
    scene = new LeaseScene(manner);
  });

  it('is true when the lock was still ours, and frees it', async () => {
    const lock = await scene.acquire('k');
    expect(await lock.release()).toBe(true);
    expect(scene.driver.inspect('k')).toBeNull();
    expect(scene.requests<ReleaseRequest>('release')).toEqual([{ key: 'k', owner: lock.owner }]);
  });

  it('is sent once, however often it is asked for, and always gives the same', async () => {
    const lock = await scene.acquire('k');
    const first = lock.release();
    expect(await Promise.all([first, lock.release(), lock.release()])).toEqual([true, true, true]);
    expect(await lock.release()).toBe(true);
    expect(scene.driver.count('release')).toBe(1);
  });

  it('does not touch a later lock on the same key when it is asked for again', async () => {
    const lock = await scene.acquire('k');
    await lock.release();
    const next = await scene.acquire('k');
    expect(await lock.release()).toBe(true);
    expect(next.held).toBe(true);
    expect(scene.driver.inspect('k')).toMatchObject({ owner: next.owner });
  });

  it('is false when the backend says that the lock was not ours, and is not asked for again', async () => {
    const lock = await scene.acquire('k');
    scene.usurp('k');
    expect(await lock.release()).toBe(false);
    await scene.clock.advance(5 * TTL);
    expect(scene.driver.count('release')).toBe(1);
    expect(scene.driver.inspect('k')).toMatchObject({ owner: 'other:1#x' });
    expect(scene.logged).toEqual([]);
  });

  it('is false when the lock had run out and another took it', async () => {
    const lock = await scene.acquire('k');
    scene.clock.block(TTL);
    scene.driver.backend.acquire({ key: 'k', owner: 'another', ttl: TTL });
    expect(await lock.release()).toBe(false);
    await scene.clock.advance(TTL);
    expect(scene.clock.timers).toBe(0);
  });

  it('is true at once when others of the turn go on, and the last of them gives the lock back', async () => {
    const lock = await scene.acquire('k');
    const nested = await scene.engine.runUnder(lock, () => scene.acquire('k'));
    expect(await lock.release()).toBe(true);
    expect(lock.held).toBe(false);
    expect(nested.held).toBe(true);
    expect(scene.driver.count('release')).toBe(0);
    expect(await nested.release()).toBe(true);
    expect(scene.driver.inspect('k')).toBeNull();
  });

  it('is true at once when the lock was handed over', async () => {
    await (await scene.acquire('k')).release();
    await scene.clock.advance(10);
    scene.driver.calls = [];
    const lock = await scene.acquire('k');
    const next = follow(scene.acquire('k'));
    await scene.clock.settle();
    expect(await lock.release()).toBe(true);
    await scene.clock.settle();
    expect(scene.driver.count('release')).toBe(0);
    expect(next.value?.held).toBe(true);
    expect(lock.held).toBe(false);
  });

  it('is done by `await using`, when the block ends', async () => {
    {
      await using lock = await scene.acquire('k');
      expect(lock.held).toBe(true);
    }
    expect(scene.driver.inspect('k')).toBeNull();
  });

  it('is done by `await using` when the block throws, whose error stays what it was', async () => {
    const error = new Error('mine');
    const block = async (): Promise<void> => {
      await using _ = await scene.acquire('k');
      throw error;
    };
    await expect(block()).rejects.toBe(error);
    expect(scene.driver.inspect('k')).toBeNull();
  });

  it('keeps the key taken for what is left of minHold', async () => {
    const lock = await scene.acquire('k', { minHold: 1000 });
    await scene.clock.advance(300);
    expect(await lock.release()).toBe(true);
    expect(scene.requests('release')).toEqual([{ key: 'k', owner: lock.owner, retainFor: 700 }]);
    await scene.clock.advance(699);
    expect(scene.driver.inspect('k')).toMatchObject({ owner: '' });
    await scene.clock.advance(1);
    expect(scene.driver.inspect('k')).toBeNull();
  });

  it('keeps the key free when minHold is over', async () => {
    const lock = await scene.acquire('k', { minHold: 1000 });
    await scene.clock.advance(1000);
    await lock.release();
    expect(scene.requests('release')).toEqual([{ key: 'k', owner: lock.owner }]);
    expect(scene.driver.inspect('k')).toBeNull();
  });

  it('counts minHold in whole milliseconds, rounded up', async () => {
    const lock = await scene.acquire('k', { minHold: 10 });
    scene.clock.block(0.4);
    await lock.release();
    expect(scene.requests('release')).toMatchObject([{ retainFor: 10 }]);
  });

  it('keeps the key taken for a lock that was lost within minHold too', async () => {
    const lock = await scene.acquire('k', { minHold: 1000, maxHold: 200 });
    await scene.clock.advance(200);
    expect(await lock.release()).toBe(false);
    expect(scene.requests('release')).toEqual([{ key: 'k', owner: lock.owner, retainFor: 800 }]);
  });
});

describe.each(['reject', 'throw', 'hang'] as const)('a release that fails (%s)', (failure) => {
  let scene: LeaseScene;
  let lock: EngineHandle;

  beforeEach(async () => {
    scene = new LeaseScene('async', { observed: true });
    lock = await scene.acquire('k');
    scene.driver.manner.release = failure;
  });

  it('is false after a sixth of the ttl at the latest, and never throws', async () => {
    const released = follow(lock.release());
    await scene.clock.advance(ANSWER_TIME);
    expect(released).toEqual({ state: 'resolved', value: false });
    expect(await lock.release()).toBe(false);
  });

  it('is false after five seconds at the latest, however long the ttl', async () => {
    scene.driver.manner.release = failure;
    const long = await scene.acquire('long', { ttl: 3_600_000 });
    const released = follow(long.release());
    await scene.clock.advance(5000);
    expect(released.value).toBe(false);
  });

  it('is asked for again soon: a backend that is back after a second is not left locked for long', async () => {
    const long = await scene.acquire('long', { ttl: 3_600_000 });
    void long.release();
    await scene.clock.advance(6000);
    scene.driver.manner.release = 'async';
    await scene.clock.advance(10_000);
    expect(scene.driver.inspect('long')).toBeNull();
  });

  it('is asked for again behind until it is answered', async () => {
    void lock.release();
    await scene.clock.advance(ANSWER_TIME + 10);
    expect(scene.driver.inspect('k')).not.toBeNull();
    scene.driver.manner.release = 'async';
    await scene.clock.advance(TTL / 2);
    expect(scene.driver.inspect('k')).toBeNull();
    expect(scene.clock.timers).toBe(0);
    const sent = scene.driver.count('release');
    await scene.clock.advance(10 * TTL);
    expect(scene.driver.count('release')).toBe(sent);
  });

  it('is asked for again behind until the ttl is over, and then no more', async () => {
    void lock.release();
    await scene.clock.advance(3 * TTL);
    expect(scene.driver.count('release')).toBeGreaterThan(3);
    expect(scene.times('release').at(-1)).toBeLessThanOrEqual(TTL + ANSWER_TIME);
    expect(scene.clock.timers).toBe(0);
  });

  it('is logged as unknown, once', async () => {
    void lock.release();
    await scene.clock.advance(3 * TTL);
    const unknown = {
      type: 'unknown',
      key: 'k',
      owner: lock.owner,
      during: 'release',
      cause: expect.any(Error),
      remaining: 0,
    };
    expect(scene.logged).toEqual([unknown]);
    expect(scene.events.filter(({ type }) => type === 'unknown')).toEqual([unknown]);
  });

  it('is of an owner that is renewed no more', async () => {
    void lock.release();
    await scene.clock.advance(3 * TTL);
    expect(scene.driver.count('renew')).toBe(0);
  });

  it('lets the next in line contend by itself, under another owner', async () => {
    const next = follow(scene.acquire('k', { wait: Infinity, handover: false }));
    await scene.clock.settle();
    void lock.release();
    await scene.clock.advance(ANSWER_TIME + 100);
    expect(next.state).toBe('pending');
    scene.driver.manner.release = 'async';
    await scene.clock.advance(TTL);
    expect(next.value).toMatchObject({ held: true });
    expect(next.value!.owner).not.toBe(lock.owner);
  });

  it('keeps the key taken by minHold when it is asked for again', async () => {
    scene.driver.manner.release = failure;
    const kept = await scene.acquire('kept', { minHold: 20_000 });
    void kept.release();
    await scene.clock.advance(ANSWER_TIME + 10);
    for (const request of scene.requests<ReleaseRequest>('release')) {
      expect(request.retainFor).toBeGreaterThan(0);
    }
  });

  it('keeps the process alive for as long as its answer is waited for, and not for what follows', async () => {
    void lock.release();
    expect(scene.clock.refTimers).toBe(1);
    await scene.clock.advance(ANSWER_TIME);
    expect(scene.clock.refTimers).toBe(0);
    expect(scene.clock.timers).toBeGreaterThan(0);
  });
});

describe('a release that is answered late', () => {
  it('is false though it was carried out, and the answer changes nothing', async () => {
    const scene = new LeaseScene('async');
    const lock = await scene.acquire('k');
    scene.driver.manner.release = 'manual';
    const released = follow(lock.release());
    const first = scene.driver.next('release');
    first.apply();
    await scene.clock.advance(ANSWER_TIME);
    expect(released.value).toBe(false);
    scene.driver.manner.release = 'async';
    const next = await scene.acquire('k');
    first.answer();
    await scene.clock.advance(3 * TTL);
    expect(next.held).toBe(true);
    expect(scene.logged).toHaveLength(1);
  });

  it('is false though it fails only then, and that is not told again', async () => {
    const scene = new LeaseScene('async');
    const lock = await scene.acquire('k');
    scene.driver.manner.release = 'manual';
    const released = follow(lock.release());
    const first = scene.driver.next('release');
    scene.driver.manner.release = 'async';
    await scene.clock.advance(ANSWER_TIME);
    first.fail();
    await scene.clock.advance(TTL);
    expect(released.value).toBe(false);
    expect(scene.logged).toHaveLength(1);
    expect(scene.driver.count('release')).toBe(2);
  });

  it('is true within a sixth of the ttl', async () => {
    const scene = new LeaseScene('async');
    const lock = await scene.acquire('k');
    scene.driver.manner.release = 'manual';
    const released = follow(lock.release());
    await scene.clock.advance(ANSWER_TIME - 1);
    expect(released.state).toBe('pending');
    scene.driver.next('release').answer();
    await scene.clock.settle();
    expect(released.value).toBe(true);
    expect(scene.logged).toEqual([]);
  });
});

describe('a driver that answers a release with rubbish', () => {
  it.each([undefined, null, 'yes', 7, {}])('(%j) gives false, no error', async (rubbish) => {
    for (const answer of [rubbish, Promise.resolve(rubbish)]) {
      const scene = new LeaseScene('async');
      const lock = await scene.acquire('k');
      vi.spyOn(scene.driver, 'release').mockReturnValue(answer as never);
      expect(await lock.release()).toBe(false);
      await scene.clock.advance(3 * TTL);
      expect(scene.clock.timers).toBe(0);
    }
  });
});

describe('maxHold', () => {
  let scene: LeaseScene;

  beforeEach(() => {
    scene = new LeaseScene('async', { maxHold: 2500 });
  });

  it('loses the lock when it was held for so long, renewed or not', async () => {
    const lock = await scene.acquire('k');
    const { signal } = lock;
    await scene.clock.advance(2499);
    expect(lock.held).toBe(true);
    await scene.clock.advance(1);
    expect(signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'maxHold', keys: ['k'] });
    expect(lock.held).toBe(false);
  });

  it('does nothing to a lock that was released in time', async () => {
    const lock = await scene.acquire('k');
    const { signal } = lock;
    await scene.clock.advance(2000);
    await lock.release();
    await scene.clock.advance(TTL);
    expect(signal.aborted).toBe(false);
    expect(scene.logged).toEqual([]);
    expect(scene.clock.timers).toBe(0);
  });

  it('counts from when the lock was granted, not from when it was asked for', async () => {
    const first = await scene.acquire('k', { maxHold: Infinity });
    const waiting = follow(scene.acquire('k', { wait: Infinity, handover: false }));
    await scene.clock.advance(5000);
    await first.release();
    await scene.clock.advance(2000);
    expect(waiting.value?.held).toBe(true);
    await scene.clock.advance(1000);
    expect(waiting.value?.held).toBe(false);
  });

  it('counts for each turn of a lease by itself', async () => {
    scene = new LeaseScene('async', { maxHold: 80 });
    await (await scene.acquire('k')).release();
    await scene.clock.advance(10);
    const first = await scene.acquire('k');
    const second = follow(scene.acquire('k'));
    await scene.clock.advance(60);
    await first.release();
    await scene.clock.advance(60);
    expect(second.value).toMatchObject({ owner: first.owner, held: true });
    await scene.clock.advance(20);
    expect(second.value?.held).toBe(false);
  });

  it('counts for the turn, whoever joined it later', async () => {
    const lock = await scene.acquire('k');
    await scene.clock.advance(2000);
    const nested = await scene.engine.runUnder(lock, () =>
      scene.acquire('k', { maxHold: 100_000 }),
    );
    await scene.clock.advance(500);
    expect([lock.held, nested.held]).toEqual([false, false]);
  });

  it('does not keep the process alive', async () => {
    await scene.acquire('k');
    expect(scene.clock.refTimers).toBe(0);
  });

  it('may be longer than any timer', async () => {
    const day = 86_400_000;
    const lock = await scene.acquire('k', { ttl: 30 * day, maxHold: 60 * day });
    await scene.clock.advance(59 * day);
    expect(lock.held).toBe(true);
    await scene.clock.advance(day);
    expect(lock.held).toBe(false);
  });

  it('is seen late after a blocked event loop, but before the lock is lost by itself', async () => {
    const lock = await scene.acquire('k');
    scene.clock.block(3000);
    await scene.clock.advance(1);
    expect(lock.signal.reason).toMatchObject({ reason: 'maxHold' });
  });
});
