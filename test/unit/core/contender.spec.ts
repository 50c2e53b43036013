import { describe, expect, it } from 'vitest';
import type {
  AcquireRequest,
  Denial,
  Grant,
} from '../../../lib/interfaces/lock-driver.interface.js';
import { inEverySetting, Scene } from '../../support/scene.js';

inEverySetting('a process that contends for a lock', (options) => {
  it('tries, subscribes to the notice of a release, tries again and rests', async () => {
    const scene = new Scene(options);
    await scene.there.acquire('k');

    await scene.ask('k');

    expect(scene.driver.count('acquire')).toBe(2);
    expect(scene.driver.listeners).toBe(1);
    await scene.clock.advance(9);
    expect(scene.driver.count('acquire')).toBe(2);
  });

  it('does not miss a release that came before it had subscribed', async () => {
    const scene = new Scene({ ...options, manner: 'manual' });
    const holder = scene.driver.backend;
    holder.acquire({ key: 'k', owner: 'x', ttl: 30_000 });
    const waiter = await scene.ask('k');
    const denied = scene.driver.next<Grant | Denial>('acquire');
    denied.apply();
    holder.release({ key: 'k', owner: 'x' });

    denied.answer();
    await scene.clock.settle();
    scene.driver.next('acquire').answer();
    await scene.clock.settle();

    expect(waiter.get().held).toBe(true);
  });

  it('tries at once when it hears of a release', async () => {
    const scene = new Scene(options);
    const holder = await scene.there.acquire('k');
    const waiter = await scene.ask('k');
    await scene.clock.advance(2000);
    const now = scene.clock.now();

    await holder.release();
    await scene.clock.settle();

    expect(waiter.get().held).toBe(true);
    expect(scene.clock.now()).toBe(now);
  });

  it('tries again at once when it heard of a release during a try that was then denied', async () => {
    const scene = new Scene(options);
    const holder = await scene.there.acquire('k');
    const waiter = await scene.ask('k');
    scene.driver.manner.acquire = 'manual';
    await scene.clock.advance(100);
    const denied = scene.driver.next('acquire');
    denied.apply();

    await holder.release();
    denied.answer();
    await scene.clock.settle();
    scene.driver.next('acquire').answer();
    await scene.clock.settle();

    expect(waiter.get().held).toBe(true);
  });

  it('loses no more than the longest pause when a notice gets lost', async () => {
    const scene = new Scene(options);
    const holder = await scene.there.acquire('k');
    const waiter = await scene.ask('k', { wait: Infinity });
    await scene.clock.advance(10_000);
    scene.driver.deaf = true;

    await holder.release();
    await scene.clock.settle();
    expect(waiter.settled).toBe(false);
    await scene.clock.advance(800);

    expect(waiter.get().held).toBe(true);
  });

  it('does without notices where the driver has none', async () => {
    const scene = new Scene({ ...options, notices: false });
    const holder = await scene.there.acquire('k');
    const waiter = await scene.ask('k');
    await scene.clock.advance(100);

    await holder.release();
    await scene.clock.advance(800);

    expect(waiter.get().held).toBe(true);
  });

  it('does without notices where subscribing fails', async () => {
    const scene = new Scene(options);
    const holder = await scene.there.acquire('k');
    scene.driver.onReleased = () => {
      throw new Error('the subscriber is not connected');
    };
    const waiter = await scene.ask('k');
    await scene.clock.advance(100);

    await holder.release();
    await scene.clock.advance(800);

    expect(waiter.get().held).toBe(true);
  });

  it('is not disturbed by a subscription that cannot be ended', async () => {
    const scene = new Scene(options);
    const holder = await scene.there.acquire('k');
    scene.driver.onReleased = () => () => {
      throw new Error('the subscriber is not connected');
    };
    const waiter = await scene.ask('k');

    await holder.release();
    await scene.clock.advance(800);

    expect(waiter.get().held).toBe(true);
  });

  it('comes back when the lease that it was denied for ends, if that is sooner than its pause', async () => {
    const scene = new Scene({ ...options, retry: { min: 500, max: 500, factor: 1, jitter: 0 } });
    await scene.there.acquire('k', { ttl: 300, autoExtend: false });
    await scene.clock.advance(100);
    const waiter = await scene.ask('k');

    await scene.clock.advance(199);
    expect(waiter.settled).toBe(false);
    await scene.clock.advance(1);

    expect(waiter.get().held).toBe(true);
  });

  it('listens no more once it has the lock and nobody else waits', async () => {
    const scene = new Scene(options);
    const holder = await scene.there.acquire('k');
    const waiter = await scene.ask('k');
    expect(scene.driver.listeners).toBe(1);

    await holder.release();
    await scene.clock.settle();

    expect(waiter.get().held).toBe(true);
    expect(scene.driver.listeners).toBe(0);
  });

  it('listens once for all who wait, and until the last of them is done', async () => {
    const scene = new Scene(options);
    const holder = await scene.there.acquire('k');
    const waiters = [await scene.ask('k'), await scene.ask('k'), await scene.ask('k')];
    expect(scene.driver.listeners).toBe(1);

    await holder.release();
    for (const waiter of waiters) {
      await scene.clock.settle();
      await waiter.get().release();
    }

    await scene.clock.settle();
    expect(scene.driver.listeners).toBe(0);
  });
});

inEverySetting('a try whose caller has left', (options) => {
  async function trying(
    first: object,
    second: object | null,
  ): Promise<[Scene, () => Promise<void>]> {
    const scene = new Scene({ ...options, manner: 'manual' });
    const controller = new AbortController();
    await scene.ask('k', { ...first, signal: controller.signal });
    if (second !== null) {
      await scene.ask('k', second);
    }
    const leave = async (): Promise<void> => {
      controller.abort();
      await scene.clock.settle();
    };
    return [scene, leave];
  }

  it('goes to the next one in line', async () => {
    const scene = new Scene({ ...options, manner: 'manual' });
    const controller = new AbortController();
    await scene.ask('k', { signal: controller.signal });
    const next = await scene.ask('k');
    controller.abort();
    const attempt = scene.driver.next('acquire');

    attempt.answer();
    await scene.clock.settle();

    expect(next.get().held).toBe(true);
    expect(next.get().owner).toBe((attempt.request as AcquireRequest).owner);
    expect(scene.driver.calls.map(({ operation }) => operation)).toEqual(['acquire']);
  });

  it.each([
    { what: 'ttl', first: { ttl: 30_000 }, second: { ttl: 20_000 } },
    { what: 'autoExtend', first: { autoExtend: true }, second: { autoExtend: false } },
  ])('is given back if the next one wants another $what', async ({ first, second }) => {
    const [scene, leave] = await trying(first, second);
    await leave();
    const attempt = scene.driver.next('acquire');

    attempt.answer();
    await scene.clock.settle();

    const { owner } = attempt.request as AcquireRequest;
    expect(scene.driver.next('release').request).toEqual({ key: 'k', owner });
    const again = scene.driver.next('acquire').request as AcquireRequest;
    expect(again.owner).not.toBe(owner);
    expect(again.ttl).toBe(second.ttl ?? 30_000);
  });

  it('is given back if nobody else waits', async () => {
    const [scene, leave] = await trying({}, null);
    const attempt = scene.driver.next('acquire');
    attempt.apply();
    scene.driver.manner.release = 'sync';

    await leave();
    attempt.answer();
    await scene.clock.settle();

    expect(scene.isLocked()).toBe(false);
    expect(scene.driver.count('acquire')).toBe(1);
    await scene.clock.advance(60_000);
    expect(scene.clock.timers).toBe(0);
  });
});

describe('a notice', () => {
  it('is no more than a hint: it may come for nothing', async () => {
    const scene = new Scene();
    await scene.there.acquire('k');
    let hint: (() => void) | undefined;
    scene.driver.onReleased = (_key, listener) => {
      hint = listener;
      return () => undefined;
    };
    const waiter = await scene.ask('k');
    const before = scene.driver.count('acquire');

    hint?.();
    await scene.clock.settle();

    expect(scene.driver.count('acquire')).toBe(before + 1);
    expect(waiter.settled).toBe(false);
  });

  it('that comes late, when nobody waits any more, does nothing', async () => {
    const scene = new Scene();
    const holder = await scene.there.acquire('k');
    let hint: (() => void) | undefined;
    scene.driver.onReleased = (_key, listener) => {
      hint = listener;
      return () => undefined;
    };
    await scene.ask('k', { wait: 10 });
    await scene.clock.advance(10);
    await holder.release();
    scene.driver.calls = [];

    hint?.();
    await scene.clock.settle();

    expect(scene.driver.calls).toEqual([]);
    expect(scene.isLocked()).toBe(false);
  });
});
