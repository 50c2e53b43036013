import { describe, expect, it, vi } from 'vitest';
import { LockDriverError } from '../../../lib/errors/lock-driver.error.js';
import type { AcquireRequest } from '../../../lib/interfaces/lock-driver.interface.js';
import { follow, LeaseScene, TTL } from './lease-scene.js';

/** The pause after the first failure. */
const BACK_OFF = 10;

describe('a try to get a lock', () => {
  it.each([
    [1000, 500],
    [TTL, 3000],
    [30_000, 5000],
    [86_400_000, 5000],
  ])('for %i ms that gets no answer is given up after %i ms, and made anew', async (ttl, limit) => {
    const scene = new LeaseScene('async', { ttl, wait: Infinity });
    scene.driver.manner.acquire = 'hang';
    const lock = follow(scene.acquire('k'));
    await scene.clock.advance(limit + BACK_OFF - 1);
    expect(scene.times('acquire')).toEqual([0]);
    await scene.clock.advance(1);
    expect(scene.times('acquire')).toEqual([0, limit + BACK_OFF]);
    expect(lock.state).toBe('pending');
  });

  it('is tried again within `wait` until one gets through', async () => {
    const scene = new LeaseScene('async');
    scene.driver.manner.acquire = 'reject';
    const lock = follow(scene.acquire('k'));
    await scene.clock.advance(2000);
    expect(scene.driver.count('acquire')).toBeGreaterThan(3);
    scene.driver.manner.acquire = 'async';
    await scene.clock.advance(1000);
    expect(lock.value?.held).toBe(true);
  });

  it.each(['reject', 'throw', 'hang'] as const)(
    'that fails for all of `wait` (%s) is the backend’s fault, and no time-out',
    async (manner) => {
      const scene = new LeaseScene('async', { wait: 1000 });
      scene.driver.manner.acquire = manner;
      const lock = follow(scene.acquire('k'));
      await scene.clock.advance(1000);
      expect(lock.error).toBeInstanceOf(LockDriverError);
      expect(lock.error).toMatchObject({ keys: ['k'], statusCode: 503 });
    },
  );

  it.each(['reject', 'throw'] as const)(
    'that fails (%s) is tried once when nobody waits, and its cause is told',
    async (manner) => {
      const scene = new LeaseScene('async', { wait: 0 });
      scene.driver.manner.acquire = manner;
      await expect(scene.acquire('k')).rejects.toMatchObject({
        code: 'LOCK_DRIVER',
        cause: { message: 'acquire failed' },
      });
      expect(scene.driver.count('acquire')).toBe(1);
    },
  );

  it('that never ends is the backend’s fault when nobody waits', async () => {
    const scene = new LeaseScene('async', { wait: 0 });
    scene.driver.manner.acquire = 'hang';
    const lock = follow(scene.acquire('k'));
    await scene.clock.advance(TTL / 2);
    expect(lock.error).toBeInstanceOf(LockDriverError);
    expect(scene.driver.count('acquire')).toBe(1);
  });

  it('that failed for all who waited leaves nothing behind for those who come later', async () => {
    const scene = new LeaseScene('async');
    await (await scene.acquire('k')).release();
    await scene.clock.advance(10);
    const first = await scene.acquire('k');
    const unlucky = follow(scene.acquire('k', { ttl: 2 * TTL, wait: 50 }));
    await scene.clock.settle();
    scene.driver.manner.acquire = 'reject';
    await first.release();
    await scene.clock.advance(100);
    expect(unlucky.error).toBeInstanceOf(LockDriverError);
    scene.driver.manner.acquire = 'async';
    await scene.clock.advance(10 * TTL);
    const second = await scene.acquire('k');
    const next = follow(scene.acquire('k'));
    await scene.clock.settle();
    await second.release();
    await scene.clock.settle();
    expect(next.value).toMatchObject({ owner: second.owner, held: true });
  });

  it('asks for a block of tokens with hand-over, and for one without', async () => {
    const scene = new LeaseScene('async');
    await scene.acquire('a');
    await scene.acquire('b', { handover: false });
    const requests = scene.requests<AcquireRequest>('acquire');
    expect(requests).toMatchObject([{ tokens: 1024 }, { tokens: 1 }]);
  });

  it('says for how long the lock is wanted, unless nobody comes back', async () => {
    const scene = new LeaseScene('async');
    await scene.acquire('a');
    await scene.acquire('b', { wait: 0 });
    const [patient, impatient] = scene.requests<AcquireRequest>('acquire');
    expect(patient!.wantFor).toBeGreaterThan(0);
    expect(impatient!.wantFor).toBeUndefined();
  });

  it('that a client sent twice is granted with the last token of the block', async () => {
    const scene = new LeaseScene('async');
    const before = await scene.acquire('k');
    await before.release();
    await scene.clock.advance(1000);
    const { backend } = scene.driver;
    vi.spyOn(scene.driver, 'acquire').mockImplementationOnce((request) => {
      backend.acquire(request);
      return Promise.resolve(backend.acquire(request));
    });
    const lock = await scene.acquire('k');
    expect(lock.held).toBe(true);
    expect(String(lock.fencingToken)).toBe(scene.driver.inspect('k')!.fencingToken);
    expect(lock.fencingToken).toBeGreaterThan(before.fencingToken);
    const next = follow(scene.acquire('k'));
    await scene.clock.settle();
    await lock.release();
    await scene.clock.advance(100);
    // There is no other token to hand over: the next one has to come from the backend.
    expect(next.value!.owner).not.toBe(lock.owner);
    expect(next.value!.fencingToken).toBeGreaterThan(lock.fencingToken);
  });

  describe.each(['at once', 'by a promise'])('that a broken driver answers %s', (when) => {
    it.each([undefined, null, 'granted', 7, true])(
      'with %j fails, and is undone',
      async (rubbish) => {
        const scene = new LeaseScene('async', { wait: 0 });
        const acquire = vi
          .spyOn(scene.driver, 'acquire')
          .mockImplementation(
            () => (when === 'at once' ? rubbish : Promise.resolve(rubbish)) as never,
          );
        const lock = follow(scene.acquire('k'));
        await scene.clock.settle();
        expect(lock.error).toBeInstanceOf(LockDriverError);
        const { owner } = acquire.mock.calls[0]![0];
        expect(scene.requests('release')[0]).toEqual({ key: 'k', owner });
        acquire.mockRestore();
        expect((await scene.acquire('k')).held).toBe(true);
      },
    );
  });
});
