import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Lease } from '../../../lib/core/lease.js';
import { LockLostError } from '../../../lib/errors/lock-lost.error.js';
import type {
  AcquireRequest,
  ReleaseRequest,
} from '../../../lib/interfaces/lock-driver.interface.js';
import { follow, LeaseScene, MARGIN, TRIES, TTL } from './lease-scene.js';

const [FIRST_TRY] = TRIES as [number];

describe('a lease', () => {
  const SENT = 500_000;
  let lease: Lease;

  beforeEach(() => {
    lease = leaseOf(TTL);
  });

  function leaseOf(ttl: number, clockSkew = 0): Lease {
    const keeper = {
      key: 'k',
      leaseLost: () => undefined,
      leaseGoesOn: () => undefined,
      tokenRaised: () => undefined,
    };
    const settings = { ttl, autoExtend: true };
    const grant = { firstToken: 70, tokens: 3 };
    return new Lease(keeper, { owner: 'o', settings, sentAt: SENT }, grant, clockSkew);
  }

  it('is held until a margin before its ttl has passed since the request was sent', () => {
    expect(lease.isHeld(SENT + TTL - MARGIN - 1)).toBe(true);
    expect(lease.isHeld(SENT + TTL - MARGIN)).toBe(false);
    expect(lease.remaining(SENT + 1000)).toBe(TTL - MARGIN - 1000);
    expect(lease.remaining(SENT + TTL)).toBe(0);
  });

  it.each([30, 1000, 30_000, 86_400_000])(
    'of %i ms ends early by what clocks drift in that time, and never later than its ttl',
    (ttl) => {
      const { deadline } = leaseOf(ttl);
      expect(deadline).toBeLessThanOrEqual(SENT + ttl - 5 - ttl / 100);
      expect(deadline).toBeGreaterThan(SENT + ttl / 2);
    },
  );

  it('ends earlier by the clock skew that it is told of', () => {
    expect(leaseOf(TTL, 700).deadline).toBe(lease.deadline - 700);
  });

  it('counts a renewal from when that was sent', () => {
    lease.confirm(SENT + 2000, TTL, lease.epoch);
    expect(lease.deadline).toBe(SENT + 2000 + TTL - MARGIN);
  });

  it('keeps the later deadline when replies come out of order', () => {
    lease.confirm(SENT + 3000, TTL, lease.epoch);
    lease.confirm(SENT + 2000, TTL, lease.epoch);
    expect(lease.deadline).toBe(SENT + 3000 + TTL - MARGIN);
  });

  it('is as long as it was when a renewal asked for less', () => {
    lease.confirm(SENT + 100, 1000, lease.epoch);
    expect(lease.deadline).toBe(SENT + TTL - MARGIN);
  });

  it('can be in doubt and held at once, and doubt is news only once', () => {
    expect(lease.doubt(SENT + 900)).toBe(true);
    expect(lease.doubt(SENT + 950)).toBe(false);
    expect(lease.isHeld(SENT + 1000)).toBe(true);
    expect(lease.remaining(SENT + 1000)).toBe(TTL - MARGIN - 1000);
  });

  it('is not in doubt any more when a renewal was confirmed', () => {
    lease.doubt(SENT + 1000);
    lease.confirm(SENT + 2000, TTL, lease.epoch);
    expect(lease.state).toBe('held');
    expect(lease.doubt(SENT + 3000)).toBe(true);
  });

  it('is not put in doubt by what was sent before a renewal that was confirmed', () => {
    lease.confirm(SENT + 2000, TTL, lease.epoch);
    expect(lease.doubt(SENT + 1000)).toBe(false);
    expect(lease.state).toBe('held');
  });

  it('stays in doubt when the reply to an older renewal than the confirmed one comes late', () => {
    lease.confirm(SENT + 3000, TTL, lease.epoch);
    lease.doubt(SENT + 5000);
    lease.confirm(SENT + 2000, TTL, lease.epoch);
    expect(lease.state).toBe('unknown');
  });

  it('changes no more once it has ended', () => {
    lease.end();
    lease.confirm(SENT + 2000, TTL, lease.epoch);
    expect(lease.state).toBe('ended');
    expect(lease.doubt(SENT + 2000)).toBe(false);
    expect(lease.isHeld(SENT)).toBe(false);
    expect(lease.remaining(SENT)).toBe(0);
  });

  it('gives each token of its block once, in order', () => {
    expect([lease.takeToken(), lease.takeToken(), lease.takeToken()]).toEqual([70, 71, 72]);
    expect(lease.tokensLeft).toBe(0);
  });

  it('ends here at once when it is shortened', () => {
    expect(lease.retime(1000, SENT + 500)).toBe(true);
    expect(lease.deadline).toBe(SENT + 500 + 1000 - 15);
    expect(lease.retimed).toBe(true);
  });

  it('does not end later before a longer ttl was confirmed', () => {
    expect(lease.retime(60_000, SENT + 500)).toBe(false);
    expect(lease.deadline).toBe(SENT + TTL - MARGIN);
    expect(lease.retimed).toBe(true);
  });

  it('is not raised again by a renewal that was sent before it was shortened', () => {
    const { epoch } = lease;
    lease.retime(1000, SENT + 500);
    lease.confirm(SENT + 400, TTL, epoch);
    expect(lease.deadline).toBe(SENT + 500 + 1000 - 15);
  });
});

describe.each(['sync', 'async'] as const)('a deadline, with a driver that is %s,', (manner) => {
  let scene: LeaseScene;

  beforeEach(() => {
    scene = new LeaseScene(manner);
  });

  it('is a ttl less the margin after the grant was asked for', async () => {
    const lock = await scene.acquire('k');
    expect(lock.remaining).toBe(TTL - MARGIN);
    await scene.clock.advance(500);
    expect(lock.remaining).toBe(TTL - MARGIN - 500);
  });

  it('is earlier by the clock skew', async () => {
    scene = new LeaseScene(manner, { clockSkew: 1000 });
    const lock = await scene.acquire('k');
    expect(lock.remaining).toBe(TTL - MARGIN - 1000);
    await scene.clock.advance(500);
    await lock.extend();
    expect(lock.remaining).toBe(TTL - MARGIN - 1000);
  });

  it('starts anew with each renewal', async () => {
    const lock = await scene.acquire('k');
    await scene.clock.advance(FIRST_TRY);
    expect(lock.remaining).toBe(TTL - MARGIN);
  });

  it('is never later than the end of the lease at the backend', async () => {
    const lock = await scene.acquire('k');
    for (let i = 0; i < 200; i++) {
      await scene.clock.advance(97);
      expect(lock.remaining).toBeLessThan(scene.driver.inspect('k')!.remaining);
    }
  });
});

describe('a reply that takes its time', () => {
  it('is counted from before the acquire was sent', async () => {
    const scene = new LeaseScene('async');
    scene.driver.manner.acquire = 'manual';
    const lock = scene.acquire('k');
    await scene.clock.advance(1200);
    scene.driver.next('acquire').answer();
    expect((await lock).remaining).toBe(TTL - MARGIN - 1200);
  });

  it('is counted from before a synchronous acquire was sent', async () => {
    const scene = new LeaseScene('sync');
    const acquire = scene.driver.acquire.bind(scene.driver);
    vi.spyOn(scene.driver, 'acquire').mockImplementation((request) => {
      scene.clock.block(700);
      return acquire(request);
    });
    expect((await scene.acquire('k')).remaining).toBe(TTL - MARGIN - 700);
  });

  it('is counted from before the renewal was sent', async () => {
    const scene = new LeaseScene('async');
    const lock = await scene.acquire('k');
    scene.driver.manner.renew = 'manual';
    await scene.clock.advance(FIRST_TRY + 800);
    scene.driver.next('renew').answer();
    await scene.clock.settle();
    expect(lock.remaining).toBe(TTL - MARGIN - 800);
  });

  it('is counted from before the extend was sent', async () => {
    const scene = new LeaseScene('async');
    const lock = await scene.acquire('k');
    scene.driver.manner.renew = 'manual';
    const extended = lock.extend();
    await scene.clock.advance(300);
    scene.driver.next('renew').answer();
    await extended;
    expect(lock.remaining).toBe(TTL - MARGIN - 300);
  });

  it('gives nothing when it comes after the deadline: the grant is given back, and asked for anew', async () => {
    const scene = new LeaseScene('async');
    scene.driver.manner.acquire = 'manual';
    const lock = follow(scene.acquire('k', { wait: Infinity }));
    const late = scene.driver.next('acquire');
    scene.clock.block(TTL - MARGIN);
    late.answer();
    await scene.clock.settle();
    expect(lock.state).toBe('pending');
    const [first, second] = scene.requests<AcquireRequest>('acquire');
    expect(scene.requests<ReleaseRequest>('release')).toEqual([{ key: 'k', owner: first!.owner }]);
    expect(second!.owner).not.toBe(first!.owner);
    scene.driver.next('acquire').answer();
    await scene.clock.settle();
    expect(lock.value).toMatchObject({ owner: second!.owner, held: true });
  });

  it('is good for what is left when it comes just before the deadline', async () => {
    const scene = new LeaseScene('async');
    scene.driver.manner.acquire = 'manual';
    const lock = scene.acquire('k');
    scene.clock.block(TTL - MARGIN - 1);
    scene.driver.next('acquire').answer();
    expect(await lock).toMatchObject({ held: true, remaining: 1 });
  });

  it('of a synchronous driver, after the deadline, runs no work and leaves nothing locked', async () => {
    const scene = new LeaseScene('sync');
    const acquire = scene.driver.acquire.bind(scene.driver);
    vi.spyOn(scene.driver, 'acquire').mockImplementation((request) => {
      const grant = acquire(request);
      scene.clock.block(TTL - MARGIN);
      return grant;
    });
    const work = vi.fn<() => void>();
    await expect(scene.withLock('k', work)).rejects.toThrow(LockLostError);
    expect(work).not.toHaveBeenCalled();
    expect(scene.driver.inspect('k')).toBeNull();
  });
});
