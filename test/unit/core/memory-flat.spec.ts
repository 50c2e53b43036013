import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { MemoryLockDriver } from '../../../lib/drivers/memory/memory-lock.driver.js';
import { TestEngine } from '../../support/engine.js';
import { FakeClock } from '../../support/fake-clock.js';
import { heapUsed } from '../../support/garbage-collector.js';

const TIMES = 100_000;
const AT_ONCE = 1000;
/** A leak of so much as 40 bytes each would be more. */
const LIMIT = 4_000_000;

/** The driver remembers a key for a second. */
const RETENTION = 2000;

/** A memory driver that counts who listens. */
class CountingDriver extends MemoryLockDriver {
  listeners = 0;

  override onReleased(key: string, listener: () => void): () => void {
    const unsubscribe = super.onReleased(key, listener);
    this.listeners++;
    return () => {
      this.listeners--;
      unsubscribe();
    };
  }
}

class Scenery {
  readonly clock = new FakeClock();
  readonly driver = new CountingDriver({ now: () => this.clock.now() });
  readonly here = new TestEngine(this.driver, this.clock);
  readonly there = new TestEngine(this.driver, this.clock);

  /** Runs the batch until it was done often enough; gives by how much that has made the heap grow. */
  async grow(batch: () => Promise<void>): Promise<number> {
    for (let done = 0; done < TIMES / 10; done += AT_ONCE) {
      await batch();
    }
    const before = heapUsed();
    for (let done = 0; done < TIMES; done += AT_ONCE) {
      await batch();
    }
    return heapUsed() - before;
  }
}

const nameOf = (error: Error): string => error.name;

/** What becomes of so many calls at once: the different ways in which they end. */
async function outcomes(
  call: () => Promise<unknown>,
  meanwhile: () => Promise<void>,
): Promise<string[]> {
  const ends = Array.from({ length: AT_ONCE }, () => call().then(() => 'ok', nameOf));
  await meanwhile();
  return [...new Set(await Promise.all(ends))];
}

describe('memory is flat', { timeout: 120_000 }, () => {
  it.each(['here', 'there'] as const)(
    'over 100,000 waits that were too short for a lock held %s',
    async (holding) => {
      const scenery = new Scenery();
      const { clock, driver, here } = scenery;
      const { signal } = new AbortController();
      const holder = await scenery[holding].acquire('k');
      const batch = async (): Promise<void> => {
        const ends = await outcomes(
          () => here.acquire('k', { wait: 5, signal }),
          () => clock.advance(5),
        );
        expect(ends).toEqual(['LockTimeoutError']);
      };

      expect(await scenery.grow(batch)).toBeLessThan(LIMIT);

      expect(getEventListeners(signal, 'abort')).toEqual([]);
      expect(driver.listeners).toBe(0);
      await holder.release();
      await clock.advance(60_000);
      expect(clock.timers).toBe(0);
    },
  );

  it('over 100,000 waits that were aborted', async () => {
    const scenery = new Scenery();
    const { clock, driver, here, there } = scenery;
    const holder = await there.acquire('k');
    const batch = async (): Promise<void> => {
      const controller = new AbortController();
      const ends = await outcomes(
        () => here.acquire('k', { wait: Infinity, signal: controller.signal }),
        async () => {
          await clock.settle();
          controller.abort();
          await clock.settle();
        },
      );
      expect(ends).toEqual(['LockAbortedError']);
    };

    expect(await scenery.grow(batch)).toBeLessThan(LIMIT);

    expect(driver.listeners).toBe(0);
    await holder.release();
    await clock.advance(60_000);
    expect(clock.timers).toBe(0);
  });

  it('over 100,000 tries that did not wait', async () => {
    const scenery = new Scenery();
    const { clock, driver, here, there } = scenery;
    const holder = await there.acquire('k');
    const batch = async (): Promise<void> => {
      for (let i = 0; i < AT_ONCE; i++) {
        const error = here.acquire('k', { wait: 0 }).catch(nameOf);
        await clock.settle();
        await error;
      }
    };

    expect(await scenery.grow(batch)).toBeLessThan(LIMIT);

    expect(driver.listeners).toBe(0);
    await holder.release();
  });

  it('over 100,000 turns on as many keys', async () => {
    const scenery = new Scenery();
    const { clock, driver, here } = scenery;
    let key = 0;
    const batch = async (): Promise<void> => {
      const ends = await outcomes(
        () => here.withLock(`k${key++}`, () => undefined),
        () => clock.advance(RETENTION),
      );
      expect(ends).toEqual(['ok']);
    };

    expect(await scenery.grow(batch)).toBeLessThan(LIMIT);

    expect(driver.list()).toEqual([]);
    await clock.advance(60_000);
    expect(clock.timers).toBe(0);
  });

  it('over 100,000 waits for several keys that were too short', async () => {
    const scenery = new Scenery();
    const { clock, driver, here, there } = scenery;
    const holder = await there.acquire('z');
    let key = 0;
    const batch = async (): Promise<void> => {
      const ends = await outcomes(
        () => here.acquireAll([`k${key++}`, 'z'], { wait: 5 }),
        () => clock.advance(RETENTION),
      );
      expect(ends).toEqual(['LockTimeoutError']);
    };

    expect(await scenery.grow(batch)).toBeLessThan(LIMIT);

    expect(driver.listeners).toBe(0);
    await holder.release();
    await clock.advance(60_000);
    expect(clock.timers).toBe(0);
  });
});
