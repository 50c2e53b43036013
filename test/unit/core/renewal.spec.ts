import { beforeEach, describe, expect, it } from 'vitest';
import type { EngineHandle } from '../../../lib/core/lock-handle.js';
import type { RenewRequest } from '../../../lib/interfaces/lock-driver.interface.js';
import { EARLY, follow, LeaseScene, LIFE, MARGIN, TRIES, TTL } from './lease-scene.js';

const [FIRST_TRY] = TRIES as [number];

/** The sizes of the renewals sent so far. */
function batches(scene: LeaseScene): number[] {
  return scene.requests<readonly RenewRequest[]>('renew').map(({ length }) => length);
}

async function acquireMany(scene: LeaseScene, count: number): Promise<EngineHandle[]> {
  const locks = Array.from({ length: count }, (_, i) => scene.acquire(`k${i}`));
  await scene.clock.settle();
  return Promise.all(locks);
}

async function firstTry(random: number): Promise<number> {
  const scene = new LeaseScene('async', { random: () => random });
  await scene.acquire('k');
  await scene.clock.advance(2000);
  return scene.times('renew')[0]!;
}

describe.each(['sync', 'async'] as const)('renewal, with a driver that is %s,', (manner) => {
  let scene: LeaseScene;

  beforeEach(() => {
    scene = new LeaseScene(manner);
  });

  it('keeps a lock for as long as it is held', async () => {
    const lock = await scene.acquire('k');
    await scene.clock.advance(100 * TTL);
    expect(lock.held).toBe(true);
    expect(lock.signal.aborted).toBe(false);
    expect(scene.driver.inspect('k')).toMatchObject({ owner: lock.owner });
  });

  it('comes at two sixths of a life that starts with each confirmed renewal', async () => {
    await scene.acquire('k');
    await scene.clock.advance(4 * FIRST_TRY);
    expect(scene.times('renew')).toEqual([1, 2, 3, 4].map((n) => n * FIRST_TRY));
  });

  it('asks for the ttl, by the owner, and never to shorten', async () => {
    const lock = await scene.acquire('k');
    await scene.clock.advance(4 * FIRST_TRY);
    for (const request of scene.renewals) {
      expect(request).toEqual({ key: 'k', owner: lock.owner, ttl: TTL });
    }
  });

  it('ends with the release', async () => {
    const lock = await scene.acquire('k');
    await scene.clock.advance(FIRST_TRY);
    await lock.release();
    await scene.clock.advance(10 * TTL);
    expect(scene.times('renew')).toEqual([FIRST_TRY]);
  });

  it('is for a new owner, in its own time, when the key was released and taken again', async () => {
    const first = await scene.acquire('k');
    await scene.clock.advance(1000);
    await first.release();
    const second = await scene.acquire('k');
    await scene.clock.advance(FIRST_TRY);
    expect(scene.times('renew')).toEqual([1000 + FIRST_TRY]);
    expect(scene.renewals).toEqual([{ key: 'k', owner: second.owner, ttl: TTL }]);
  });

  it('takes 2,500 leases that fall due together in three calls', async () => {
    const locks = await acquireMany(scene, 2500);
    await scene.clock.advance(FIRST_TRY);
    expect(batches(scene)).toEqual([1000, 1000, 500]);
    expect(new Set(scene.renewals.map(({ key }) => key)).size).toBe(2500);
    await scene.clock.advance(TTL);
    expect(locks.every(({ held }) => held)).toBe(true);
  });

  it('takes leases together that fall due at nearly the same time, and those alone that do not', async () => {
    await scene.acquire('a');
    await scene.clock.advance(80);
    await scene.acquire('b');
    await scene.clock.advance(500);
    await scene.acquire('c');
    await scene.clock.advance(FIRST_TRY);
    expect(batches(scene)).toEqual([2, 1]);
    expect(scene.renewals.map(({ key }) => key)).toEqual(['a', 'b', 'c']);
  });

  it('renews each lease at the pace of its own ttl', async () => {
    await scene.acquire('short', { ttl: 600 });
    await scene.acquire('long', { ttl: 60_000 });
    await scene.clock.advance(19_500);
    const short = scene.renewals.filter(({ key, ttl }) => key === 'short' && ttl === 600);
    const long = scene.renewals.filter(({ key, ttl }) => key === 'long' && ttl === 60_000);
    expect(long).toHaveLength(1);
    expect(short.length).toBeGreaterThan(19_500 / 200);
    expect(short.length).toBeLessThan(19_500 / 170);
  });

  it('needs one timer, whatever is held, and it does not keep the process alive', async () => {
    await acquireMany(scene, 50);
    await scene.acquire('short', { ttl: 600 });
    await scene.acquire('long', { ttl: 60_000 });
    await scene.acquire('fixed', { ttl: 9000, autoExtend: false });
    for (let i = 0; i < 40; i++) {
      await scene.clock.advance(300);
      expect(scene.clock.timers).toBe(1);
      expect(scene.clock.refTimers).toBe(0);
    }
  });

  it('lets the timer keep the process alive while somebody waits, and only then', async () => {
    const lock = await scene.acquire('k');
    const waiting = follow(scene.acquire('k', { wait: 500, handover: false }));
    await scene.clock.settle();
    expect(scene.clock.refTimers).toBe(1);
    await scene.clock.advance(500);
    expect(waiting.state).toBe('rejected');
    expect(scene.clock.refTimers).toBe(0);
    await lock.release();
  });

  it('leaves no timer behind when nothing is held any more', async () => {
    const locks = await acquireMany(scene, 3);
    await Promise.all(locks.map((lock) => lock.release()));
    await scene.clock.advance(TTL);
    expect(scene.clock.timers).toBe(0);
    expect(scene.driver.count('renew')).toBe(0);
  });

  it('does not renew what was released after it fell due and before it was sent', async () => {
    const fixed = await scene.acquire('fixed', { ttl: 1800, autoExtend: false });
    const renewed = await scene.acquire('renewed');
    fixed.signal.addEventListener('abort', () => void renewed.release());
    scene.clock.block(FIRST_TRY);
    await scene.clock.advance(1);
    expect(fixed.held).toBe(false);
    expect(scene.driver.count('renew')).toBe(0);
    expect(scene.driver.inspect('renewed')).toBeNull();
  });

  it('does not renew what was released while an earlier call was answered', async () => {
    const locks = await acquireMany(scene, 1500);
    const last = locks.at(-1)!;
    locks[0]!.signal.addEventListener('abort', () => void last.release());
    scene.usurp('k0');
    await scene.clock.advance(FIRST_TRY + 10);
    const released = scene.driver.calls.findIndex(({ operation }) => operation === 'release');
    const later = scene.driver.calls
      .slice(released)
      .flatMap(({ request }) => request as RenewRequest | readonly RenewRequest[]);
    expect(released).toBeGreaterThan(0);
    expect(later.filter(({ owner }) => owner === last.owner)).toHaveLength(1);
  });

  it('goes out once when it comes late, and raises no doubt by that', async () => {
    for (let late = FIRST_TRY; late < TTL - MARGIN; late += 25) {
      scene = new LeaseScene(manner);
      await scene.acquire('k');
      scene.clock.block(late);
      await scene.clock.advance(20);
      expect({ late, renewals: scene.renewals.length }).toEqual({ late, renewals: 1 });
      expect(scene.logged).toEqual([]);
    }
  });

  it('never has a lease twice in one call', async () => {
    scene.driver.manner.renew = 'hang';
    await acquireMany(scene, 20);
    for (let i = 0; i < 40; i++) {
      scene.clock.block((i * 37) % 211);
      await scene.clock.advance(41);
    }
    for (const batch of scene.requests<readonly RenewRequest[]>('renew')) {
      expect(new Set(batch.map(({ key }) => key)).size).toBe(batch.length);
    }
  });
});

describe('a life in sixths', () => {
  it.each([0, 0.25, 0.5, 0.999])(
    'is tried at two to five of them, early by the jitter at most (random %d)',
    async (random) => {
      const scene = new LeaseScene('async', { random: () => random });
      const lock = await scene.acquire('k');
      scene.driver.manner.renew = 'hang';
      await scene.clock.advance(TTL - MARGIN - 1);
      expect(lock.held).toBe(true);
      const times = scene.times('renew');
      expect(times).toHaveLength(4);
      times.forEach((time, i) => {
        const due = ((i + 2) * LIFE) / 6;
        expect(time).toBeLessThanOrEqual(Math.ceil(due));
        expect(time).toBeGreaterThanOrEqual(due * (1 - EARLY));
      });
      await scene.clock.advance(1);
      expect(lock.held).toBe(false);
    },
  );

  it.each(['hang', 'reject', 'throw'] as const)(
    'is tried at the same times whether renewals %s',
    async (manner) => {
      const scene = new LeaseScene('async');
      await scene.acquire('k');
      scene.driver.manner.renew = manner;
      await scene.clock.advance(2 * TTL);
      expect(scene.times('renew')).toEqual(TRIES);
    },
  );

  it('differs between processes by the jitter', async () => {
    expect((await firstTry(0)) - (await firstTry(0.999))).toBeGreaterThan(TTL / 100);
  });

  it('starts with the grant that was asked for, not with its reply', async () => {
    const scene = new LeaseScene('async');
    scene.driver.manner.acquire = 'manual';
    const lock = scene.acquire('k');
    await scene.clock.advance(900);
    scene.driver.next('acquire').answer();
    await lock;
    await scene.clock.advance(FIRST_TRY - 900);
    expect(scene.times('renew')).toEqual([FIRST_TRY]);
  });

  it('has its tries at once when the reply took more than two of them', async () => {
    const scene = new LeaseScene('async');
    scene.driver.manner.acquire = 'manual';
    const lock = scene.acquire('k');
    await scene.clock.advance(2990);
    scene.driver.next('acquire').answer();
    await lock;
    await scene.clock.advance(5);
    expect(scene.driver.count('renew')).toBe(1);
    await scene.clock.advance(10 * TTL);
    expect((await lock).held).toBe(true);
  });
});

describe('a lease of 60 days', () => {
  const DAY = 86_400_000;

  it('is renewed at a third of that', async () => {
    const scene = new LeaseScene('async', { ttl: 60 * DAY });
    const lock = await scene.acquire('k');
    await scene.clock.advance(61 * DAY);
    expect(lock.held).toBe(true);
    expect(scene.driver.count('renew')).toBe(3);
  });

  it('is lost at its end when it is not renewed', async () => {
    const scene = new LeaseScene('async', { ttl: 60 * DAY, autoExtend: false });
    const lock = await scene.acquire('k');
    await scene.clock.advance(59 * DAY);
    expect(lock.signal.aborted).toBe(false);
    await scene.clock.advance(DAY);
    expect(lock.signal.aborted).toBe(true);
  });
});

describe('a release while a renewal is under way', () => {
  it.each([true, false])('is final: an answer `renewed: %s` changes nothing', async (renewed) => {
    const scene = new LeaseScene('async', { observed: true });
    const lock = await scene.acquire('k');
    const { signal } = lock;
    scene.driver.manner.renew = 'manual';
    await scene.clock.advance(FIRST_TRY);
    expect(await lock.release()).toBe(true);
    scene.driver.next('renew').answer([{ renewed }]);
    await scene.clock.advance(10 * TTL);
    expect(signal.aborted).toBe(false);
    expect(scene.times('renew')).toEqual([FIRST_TRY]);
    expect(scene.events.map(({ type }) => type)).toEqual(['acquired', 'released']);
    expect(scene.logged).toEqual([]);
  });

  it('is final: its failure changes nothing', async () => {
    const scene = new LeaseScene('async');
    const lock = await scene.acquire('k');
    scene.driver.manner.renew = 'manual';
    await scene.clock.advance(FIRST_TRY);
    await lock.release();
    scene.driver.next('renew').fail();
    await scene.clock.advance(TTL);
    expect(scene.logged).toEqual([]);
  });

  it('does not touch the next holder of the key in this process', async () => {
    const scene = new LeaseScene('async');
    const first = await scene.acquire('k');
    scene.driver.manner.renew = 'manual';
    await scene.clock.advance(FIRST_TRY);
    await first.release();
    const second = await scene.acquire('k');
    scene.driver.next('renew').answer();
    await scene.clock.settle();
    expect(second.held).toBe(true);
    expect(second.remaining).toBe(TTL - MARGIN);
    expect(scene.driver.inspect('k')).toMatchObject({ owner: second.owner });
  });
});

describe('a lock without autoExtend', () => {
  it('is never renewed, and is lost at its deadline', async () => {
    const scene = new LeaseScene('async', { autoExtend: false });
    const lock = await scene.acquire('k');
    const { signal } = lock;
    await scene.clock.advance(TTL - MARGIN - 1);
    expect(signal.aborted).toBe(false);
    await scene.clock.advance(1);
    expect(signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
    expect(scene.driver.count('renew')).toBe(0);
  });

  it('lives on for as long as its holder extends it', async () => {
    const scene = new LeaseScene('async', { autoExtend: false });
    const lock = await scene.acquire('k');
    for (let i = 0; i < 5; i++) {
      await scene.clock.advance(5000);
      await lock.extend();
    }
    expect(lock.remaining).toBe(TTL - MARGIN);
    expect(scene.driver.count('renew')).toBe(5);
    await scene.clock.advance(TTL - MARGIN);
    expect(lock.signal.aborted).toBe(true);
  });
});
