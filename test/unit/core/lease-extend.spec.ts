import { beforeEach, describe, expect, it } from 'vitest';
import { LockDriverError } from '../../../lib/errors/lock-driver.error.js';
import { follow, LeaseScene, LIFE, MARGIN, TRIES, TTL } from './lease-scene.js';

const [FIRST_TRY, SECOND_TRY, THIRD_TRY, LAST_TRY] = TRIES as [number, number, number, number];

/** What is left of a lease of that ttl when it was confirmed just now. */
function lifeOf(ttl: number): number {
  return ttl - ttl / 100 - 5;
}

describe.each(['sync', 'async'] as const)('extend, with a driver that is %s,', (manner) => {
  let scene: LeaseScene;

  beforeEach(() => {
    scene = new LeaseScene(manner, { ttl: 30_000 });
  });

  it('renews now, for the ttl that the lock has', async () => {
    const lock = await scene.acquire('k');
    await scene.clock.advance(2000);
    await lock.extend();
    expect(scene.renewals).toEqual([{ key: 'k', owner: lock.owner, ttl: 30_000 }]);
    expect(lock.remaining).toBe(lifeOf(30_000));
  });

  it('to a longer ttl is for that from now on, and never says to shorten', async () => {
    const lock = await scene.acquire('k');
    await scene.clock.advance(2000);
    await lock.extend(90_000);
    expect(lock.remaining).toBe(lifeOf(90_000));
    expect(scene.driver.inspect('k')).toMatchObject({ remaining: 90_000 });
    await scene.clock.advance(60_000);
    expect(scene.renewals).toEqual([
      { key: 'k', owner: lock.owner, ttl: 90_000 },
      { key: 'k', owner: lock.owner, ttl: 90_000 },
      { key: 'k', owner: lock.owner, ttl: 90_000 },
    ]);
  });

  it('to a shorter ttl says to shorten, and is for that from now on', async () => {
    const lock = await scene.acquire('k');
    await lock.extend(TTL);
    expect(scene.renewals).toEqual([{ key: 'k', owner: lock.owner, ttl: TTL, shorten: true }]);
    expect(lock.remaining).toBe(LIFE);
    expect(scene.driver.inspect('k')).toMatchObject({ remaining: TTL });
    await scene.clock.advance(FIRST_TRY);
    expect(scene.renewals[1]).toEqual({ key: 'k', owner: lock.owner, ttl: TTL });
  });

  it('to a shorter ttl that ends no earlier need not say so', async () => {
    const lock = await scene.acquire('k', { autoExtend: false });
    await scene.clock.advance(28_000);
    await lock.extend(TTL);
    expect(scene.renewals).toEqual([{ key: 'k', owner: lock.owner, ttl: TTL }]);
    expect(lock.remaining).toBe(LIFE);
  });

  it('may go up and down', async () => {
    const lock = await scene.acquire('k');
    for (const ttl of [TTL, 60_000, 1000, 30_000, 500]) {
      await lock.extend(ttl);
      expect(lock.remaining).toBe(lifeOf(ttl));
      expect(scene.driver.inspect('k')).toMatchObject({ remaining: ttl });
    }
    await scene.clock.advance(20_000);
    expect(lock.held).toBe(true);
  });

  it('is refused when the lock is not ours any more, and loses it at once', async () => {
    const lock = await scene.acquire('k');
    scene.usurp('k');
    const extended = follow(lock.extend(60_000));
    await scene.clock.settle();
    expect(extended.error).toBe(lock.lostError());
    expect(extended.error).toMatchObject({ code: 'LOCK_LOST', reason: 'taken' });
  });

  it('after a release is refused without asking the backend', async () => {
    const lock = await scene.acquire('k');
    await lock.release();
    await expect(lock.extend()).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'released' });
    expect(scene.driver.count('renew')).toBe(0);
  });

  it('after a loss is refused without asking the backend', async () => {
    const lock = await scene.acquire('k', { maxHold: 100 });
    await scene.clock.advance(100);
    await expect(lock.extend()).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'maxHold' });
    expect(scene.driver.count('renew')).toBe(0);
  });

  it('with a bad ttl changes nothing', async () => {
    const lock = await scene.acquire('k');
    const bad = new Error('bad ttl');
    const parse = (): number => {
      throw bad;
    };
    await expect(lock.extend({ valueOf: parse } as never)).rejects.toBe(bad);
    expect(lock.remaining).toBe(lifeOf(30_000));
    expect(scene.driver.count('renew')).toBe(0);
  });
});

describe('extend, while it is under way,', () => {
  let scene: LeaseScene;

  beforeEach(() => {
    scene = new LeaseScene('async', { ttl: 30_000 });
    scene.driver.manner.renew = 'manual';
  });

  it('has lowered the deadline before the shortening was sent', async () => {
    const lock = await scene.acquire('k');
    const extended = follow(lock.extend(TTL));
    expect(lock.remaining).toBe(LIFE);
    await scene.clock.advance(1000);
    expect(lock.remaining).toBe(LIFE - 1000);
    expect(extended.state).toBe('pending');
  });

  it('has not raised the deadline before the answer has come', async () => {
    const lock = await scene.acquire('k');
    const extended = follow(lock.extend(90_000));
    await scene.clock.advance(1000);
    expect(lock.remaining).toBe(lifeOf(30_000) - 1000);
    scene.driver.next('renew').answer();
    await scene.clock.settle();
    expect(extended.state).toBe('resolved');
    expect(lock.remaining).toBe(lifeOf(90_000) - 1000);
  });

  it('is not outlived by a lock that was shortened and is not renewed', async () => {
    const lock = await scene.acquire('k', { autoExtend: false });
    void follow(lock.extend(TTL));
    await scene.clock.advance(LIFE);
    expect(lock.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
  });

  it('does not let a renewal raise the deadline that was sent before the shortening', async () => {
    const lock = await scene.acquire('k');
    await scene.clock.advance(10_000);
    const longer = scene.driver.next('renew');
    longer.apply();
    void follow(lock.extend(1000));
    scene.driver.next('renew').apply();
    longer.answer();
    await scene.clock.settle();
    expect(lock.remaining).toBe(lifeOf(1000));
  });

  it('is refused when the lock is released before its answer, which then changes nothing', async () => {
    const lock = await scene.acquire('k');
    const extended = follow(lock.extend());
    await lock.release();
    scene.driver.next('renew').answer([{ renewed: true }]);
    await scene.clock.settle();
    expect(extended.error).toMatchObject({ code: 'LOCK_LOST', reason: 'released' });
    expect(lock.held).toBe(false);
    expect(scene.logged).toEqual([]);
  });

  describe.each([
    ['the longer', true],
    ['the shorter', false],
  ])('and two run in the wrong order, %s being answered first,', (_, longerFirst) => {
    it('never promises more than the shorter has left at the backend', async () => {
      const lock = await scene.acquire('k', { autoExtend: false });
      const extended = [follow(lock.extend(5000)), follow(lock.extend(20_000))];
      const shorter = scene.driver.next('renew');
      const longer = scene.driver.next('renew');
      await scene.clock.advance(10);
      longer.apply();
      shorter.apply();
      for (const command of longerFirst ? [longer, shorter] : [shorter, longer]) {
        command.answer();
        await scene.clock.settle();
        expect(lock.remaining).toBeLessThan(scene.driver.inspect('k')!.remaining);
      }
      expect(extended.map(({ state }) => state)).toEqual(['resolved', 'resolved']);
    });
  });

  it('and fails to shorten may still run: what is promised later lasts no longer than that', async () => {
    const lock = await scene.acquire('k', { autoExtend: false });
    const shortened = follow(lock.extend(5000));
    const shorter = scene.driver.next('renew');
    shorter.fail();
    await scene.clock.settle();
    expect(shortened.error).toBeInstanceOf(LockDriverError);
    void follow(lock.extend(20_000));
    scene.driver.next('renew').answer();
    await scene.clock.settle();
    shorter.apply();
    expect(lock.remaining).toBeLessThan(scene.driver.inspect('k')!.remaining);
    expect(lock.remaining).toBe(lifeOf(5000));
  });

  it('and was shortened can be as long as ever once that was answered', async () => {
    const lock = await scene.acquire('k', { autoExtend: false });
    void follow(lock.extend(5000));
    scene.driver.next('renew').answer();
    await scene.clock.settle();
    void follow(lock.extend(20_000));
    scene.driver.next('renew').answer();
    await scene.clock.settle();
    expect(lock.remaining).toBe(lifeOf(20_000));
  });
});

describe.each(['reject', 'throw', 'hang'] as const)('an extend that fails (%s)', (failure) => {
  let scene: LeaseScene;

  beforeEach(() => {
    scene = new LeaseScene('async');
  });

  it('says that it is the backend, and leaves the lock held', async () => {
    const lock = await scene.acquire('k');
    scene.driver.manner.renew = failure;
    const extended = follow(lock.extend());
    scene.driver.manner.renew = 'async';
    await scene.clock.advance(TTL / 2);
    expect(extended.error).toMatchObject({ code: 'LOCK_DRIVER', keys: ['k'] });
    expect(extended.error).toHaveProperty('cause', expect.any(Error));
    expect(lock.held).toBe(true);
  });

  it.each([TTL, 10 * TTL, 100 * TTL])(
    'for %i ms leaves the lock renewed as if it had not been asked for',
    async (ttl) => {
      const lock = await scene.acquire('k');
      await scene.clock.advance(1000);
      scene.driver.manner.renew = failure;
      void follow(lock.extend(ttl));
      scene.driver.manner.renew = 'async';
      await scene.clock.advance(20 * TTL);
      expect(lock.held).toBe(true);
    },
  );

  it('for a shorter ttl leaves a lock that lives in sixths of that', async () => {
    scene = new LeaseScene('async', { ttl: 60_000 });
    const lock = await scene.acquire('k');
    await scene.clock.advance(15_000);
    scene.driver.manner.renew = failure;
    void follow(lock.extend(TTL));
    await scene.clock.advance(LIFE - 1);
    expect(scene.times('renew').map((time) => time - 15_000)).toEqual([
      0,
      FIRST_TRY,
      SECOND_TRY,
      THIRD_TRY,
      LAST_TRY,
    ]);
    expect(lock.held).toBe(true);
    await scene.clock.advance(1);
    expect(lock.held).toBe(false);
  });

  it('without autoExtend leaves the lock what it had', async () => {
    const lock = await scene.acquire('k', { autoExtend: false });
    await scene.clock.advance(1000);
    scene.driver.manner.renew = failure;
    void follow(lock.extend(10 * TTL));
    await scene.clock.advance(LIFE - 1001);
    expect(lock.held).toBe(true);
    await scene.clock.advance(1);
    expect(lock.signal.aborted).toBe(true);
  });

  it('is told as a loss when the lock is lost meanwhile', async () => {
    const lock = await scene.acquire('k');
    await scene.clock.advance(1000);
    scene.driver.manner.renew = failure;
    scene.clock.block(LIFE - 1001);
    const extended = follow(lock.extend());
    scene.clock.block(1);
    await scene.clock.advance(TTL);
    expect(extended.error).toBe(lock.lostError());
  });

  it('is logged as doubt, once', async () => {
    const lock = await scene.acquire('k');
    scene.driver.manner.renew = failure;
    void follow(lock.extend());
    void follow(lock.extend());
    await scene.clock.advance(LIFE - 1);
    expect(scene.logged).toMatchObject([{ type: 'unknown', key: 'k', during: 'renew' }]);
  });
});

describe('an extend that is never answered', () => {
  it('rejects after half of the ttl', async () => {
    const scene = new LeaseScene('async');
    const lock = await scene.acquire('k');
    scene.driver.manner.renew = 'hang';
    const extended = follow(lock.extend());
    scene.driver.manner.renew = 'async';
    await scene.clock.advance(TTL / 2);
    expect(extended.error).toBeInstanceOf(LockDriverError);
  });

  it('rejects when the lock is lost at the latest, however long the ttl that it asked for', async () => {
    const scene = new LeaseScene('async');
    const lock = await scene.acquire('k');
    scene.driver.manner.renew = 'hang';
    const extended = follow(lock.extend(86_400_000));
    await scene.clock.advance(LIFE + MARGIN);
    expect(extended.state).toBe('rejected');
  });

  it('rejects as soon as the lock is lost', async () => {
    const scene = new LeaseScene('async', { autoExtend: false });
    const lock = await scene.acquire('k');
    await scene.clock.advance(LIFE - 200);
    scene.driver.manner.renew = 'hang';
    const extended = follow(lock.extend());
    await scene.clock.advance(199);
    expect(extended.state).toBe('pending');
    await scene.clock.advance(1);
    expect(extended.error).toBe(lock.lostError());
  });

  it('leaves no timer behind', async () => {
    const scene = new LeaseScene('async');
    const lock = await scene.acquire('k');
    scene.driver.manner.renew = 'hang';
    void follow(lock.extend(86_400_000));
    await scene.clock.advance(1000);
    await lock.release();
    await scene.clock.advance(2 * TTL);
    expect(scene.clock.timers).toBe(0);
  });
});
