import { describe, expect, it } from 'vitest';
import { LockDriverError } from '../../../lib/errors/lock-driver.error.js';
import { LockTimeoutError } from '../../../lib/errors/lock-timeout.error.js';
import type { Denial } from '../../../lib/interfaces/lock-driver.interface.js';
import { Scene } from '../../support/scene.js';

describe.each([true, false])('a backend that fails (hand-over: %s)', (handover) => {
  describe.each(['reject', 'throw'] as const)('by way of a %s', (manner) => {
    it('is asked again and again, and blamed when the wait is over', async () => {
      const scene = new Scene({ handover });
      const { clock, driver } = scene;
      driver.manner.acquire = manner;
      const waiter = await scene.ask('k', { wait: 2000 });

      await clock.advance(1999);
      expect(waiter.settled).toBe(false);
      expect(driver.count('acquire')).toBeGreaterThan(5);
      await clock.advance(1);

      expect(waiter.error).toBeInstanceOf(LockDriverError);
      expect(waiter.error).toMatchObject({ keys: ['k'], statusCode: 503 });
      expect(waiter.error?.message).toContain('acquire failed');
      expect(waiter.error?.cause).toMatchObject({ message: 'acquire failed' });
    });

    it('is blamed at once by those who do not wait', async () => {
      const scene = new Scene({ handover });
      scene.driver.manner.acquire = manner;

      const waiter = await scene.ask('k', { wait: 0 });

      expect(waiter.error).toBeInstanceOf(LockDriverError);
      expect(scene.driver.count('acquire')).toBe(1);
    });

    it('is forgiven when it comes back in time', async () => {
      const scene = new Scene({ handover });
      scene.driver.manner.acquire = manner;
      const waiter = await scene.ask('k', { wait: 5000 });
      await scene.clock.advance(1000);

      scene.driver.manner.acquire = 'sync';
      await scene.clock.advance(960);

      expect(waiter.get().held).toBe(true);
    });
  });

  it('is blamed where it never answers within the wait', async () => {
    const scene = new Scene({ handover });
    scene.driver.manner.acquire = 'hang';
    const waiter = await scene.ask('k', { wait: 3000 });

    await scene.clock.advance(2999);
    expect(waiter.settled).toBe(false);
    await scene.clock.advance(1);

    expect(waiter.error).toBeInstanceOf(LockDriverError);
    expect(waiter.error?.message).toContain('did not answer within 3 s');
  });

  it.each([
    { ttl: 2000, limit: 1000 },
    { ttl: 30_000, limit: 5000 },
  ])(
    'keeps a caller that does not wait for no longer than half the ttl and 5 s (ttl $ttl)',
    async ({ ttl, limit }) => {
      const scene = new Scene({ handover, ttl });
      scene.driver.manner.acquire = 'hang';
      const waiter = await scene.ask('k', { wait: 0 });

      await scene.clock.advance(limit - 1);
      expect(waiter.settled).toBe(false);
      await scene.clock.advance(1);

      expect(waiter.error).toBeInstanceOf(LockDriverError);
    },
  );

  it('does not hold up a wait without end: a try that is not answered is given up and sent anew', async () => {
    const scene = new Scene({ handover, ttl: 2000 });
    scene.driver.manner.acquire = 'hang';
    const waiter = await scene.ask('k', { wait: Infinity });
    await scene.clock.advance(900);

    scene.driver.manner.acquire = 'async';
    expect(waiter.settled).toBe(false);
    await scene.clock.advance(200);

    expect(waiter.get().held).toBe(true);
  });

  it('is not blamed for a lock that was merely busy until a moment ago', async () => {
    const scene = new Scene({ handover, manner: 'async', handoverMaxTime: 0 });
    const holder = await scene.here.acquire('k');
    const waiter = await scene.ask('k', { wait: 5000 });
    await scene.clock.advance(4990);
    scene.driver.manner.acquire = 'manual';

    await holder.release();
    await scene.clock.advance(10);

    expect(scene.driver.commands).toHaveLength(1);
    expect(waiter.error).toBeInstanceOf(LockTimeoutError);
  });

  it('is not blamed for one that stood back for others until a moment ago', async () => {
    const scene = new Scene({ handover, manner: 'async', notices: false });
    const holder = await scene.here.acquire('k');
    const other = await scene.ask('k', {}, scene.there);
    await holder.release();
    const waiter = await scene.ask('k', { wait: 40 });
    scene.driver.manner.acquire = 'manual';

    await scene.clock.advance(40);
    expect(scene.driver.commands).toHaveLength(1);

    expect(other.get().held).toBe(true);
    expect(waiter.error).toBeInstanceOf(LockTimeoutError);
  });

  it('is blamed when it breaks down after it had said that the lock is busy', async () => {
    const scene = new Scene({ handover, manner: 'async' });
    await scene.there.acquire('k');
    const waiter = await scene.ask('k', { wait: 5000 });
    await scene.clock.advance(100);
    scene.driver.manner.acquire = 'reject';

    await scene.clock.advance(4900);

    expect(waiter.error).toBeInstanceOf(LockDriverError);
  });

  it('that answers nonsense has failed', async () => {
    const scene = new Scene({ handover, manner: 'manual' });
    const waiter = await scene.ask('k', { wait: 0 });

    scene.driver.next<Denial>('acquire').answer('OK' as Denial);
    await scene.clock.settle();

    expect(waiter.error).toBeInstanceOf(LockDriverError);
    expect(waiter.error?.cause).toMatchObject({ message: expect.stringContaining('OK') as string });
  });
});
