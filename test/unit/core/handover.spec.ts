import { describe, expect, it } from 'vitest';
import type { AcquireSettings } from '../../../lib/core/acquire-settings.js';
import type { EngineHandle } from '../../../lib/core/lock-handle.js';
import type { ReleaseRequest } from '../../../lib/interfaces/lock-driver.interface.js';
import type { Outcome } from '../../support/outcome.js';
import { Scene } from '../../support/scene.js';

interface Line {
  readonly scene: Scene;
  readonly first: EngineHandle;
  readonly next: Outcome<EngineHandle>;
}

/** One that holds the lock and one that waits for it, on a backend that has tokens for many. */
async function line({
  manner = 'sync',
  first = {},
  next = {},
  handoverMaxTime = Infinity,
}: {
  manner?: 'sync' | 'async';
  first?: Partial<AcquireSettings>;
  next?: Partial<AcquireSettings>;
  handoverMaxTime?: number;
} = {}): Promise<Line> {
  const scene = new Scene({ manner, handoverMaxTime, wait: Infinity });
  await scene.warmUp();
  const holder = await scene.here.acquire('k', first);
  const waiter = await scene.ask('k', next);
  scene.driver.calls = [];
  return { scene, first: holder, next: waiter };
}

/** How the lock went from the first to the next, as far as it did. */
function passage({ scene, first, next }: Line): string {
  const { value } = next;
  if (first.held || (value !== undefined && value.fencingToken <= first.fencingToken)) {
    return 'wrong';
  }
  if (scene.driver.calls.length === 0) {
    return value?.held && value.owner === first.owner ? 'handed over' : 'none';
  }
  const [call] = scene.driver.calls;
  const given = call?.operation === 'release' && (call.request as ReleaseRequest).owner;
  return given === first.owner && scene.driver.count('release') === 1 && value?.owner !== given
    ? 'released'
    : 'wrong';
}

describe.each(['sync', 'async'] as const)('handing a lock over (driver: %s)', (manner) => {
  it('takes no round trip: the next one gets the lease with the next token and a handle of its own', async () => {
    const { scene, first, next } = await line({ manner });

    await expect(first.release()).resolves.toBe(true);
    await scene.clock.settle();

    expect(passage({ scene, first, next })).toBe('handed over');
    expect(next.get()).not.toBe(first);
    expect(next.get().fencingToken).toBe(first.fencingToken + 1n);
    expect(first.held).toBe(false);
    expect(first.remaining).toBe(0);
  });

  it('lets a thousand turns cost the backend what one costs', async () => {
    const scene = new Scene({ manner });
    await scene.warmUp();
    const work = Array.from({ length: 1000 }, async () => {
      const lock = await scene.here.acquire('k');
      await lock.release();
    });

    await scene.clock.settle();
    await Promise.all(work);

    expect(scene.driver.calls.length).toBeLessThanOrEqual(4);
  });

  it('costs the backend a few operations for each run of 100 ms, however long it goes on', async () => {
    const scene = new Scene({ manner, wait: Infinity });
    await scene.warmUp();
    const work = Array.from({ length: 1000 }, async () => {
      const lock = await scene.here.acquire('k');
      await scene.clock.sleep(1);
      await lock.release();
    });

    await scene.clock.advance(1000);
    await Promise.all(work);

    expect(scene.driver.count('acquire')).toBeGreaterThanOrEqual(10);
    expect(scene.driver.count('acquire')).toBeLessThanOrEqual(12);
    expect(scene.driver.count('release')).toBeLessThanOrEqual(12);
  });

  it('leaves larger tokens to whoever gets the lock afterwards', async () => {
    const { scene, first, next } = await line({ manner });
    await first.release();
    await scene.clock.settle();
    await next.get().release();

    const later = await scene.there.acquire('k');

    expect(later.fencingToken).toBeGreaterThan(next.get().fencingToken);
  });

  it('waits until everything under the turn has ended', async () => {
    const { scene, first, next } = await line({ manner });
    const inner = await scene.here.engine.runUnder(first, () => scene.here.acquire('k'));

    await first.release();
    await scene.clock.settle();
    expect(next.settled).toBe(false);
    expect(scene.driver.calls).toEqual([]);

    await inner.release();
    await scene.clock.settle();
    expect(passage({ scene, first, next })).toBe('handed over');
  });

  it('goes on after an extend that asked for the same ttl', async () => {
    const { scene, first, next } = await line({ manner });
    await first.extend();
    scene.driver.calls = [];

    await first.release();
    await scene.clock.settle();

    expect(passage({ scene, first, next })).toBe('handed over');
  });

  it('goes on when minHold is over', async () => {
    const { scene, first, next } = await line({ manner, first: { minHold: 50 } });
    await scene.clock.advance(50);

    await first.release();
    await scene.clock.settle();

    expect(passage({ scene, first, next })).toBe('handed over');
  });

  it('goes on in the last millisecond of its time', async () => {
    const { scene, first, next } = await line({ manner, handoverMaxTime: 100 });
    await scene.clock.advance(99);

    await first.release();
    await scene.clock.settle();

    expect(passage({ scene, first, next })).toBe('handed over');
  });

  it('asks for a block of tokens, and without hand-over for one', async () => {
    const scene = new Scene({ manner });

    await scene.here.acquire('a');
    await scene.here.acquire('b', { handover: false });

    const [a, b] = scene.driver.calls;
    expect(a?.request).toMatchObject({ key: 'a', tokens: 1024 });
    expect(b?.request).toMatchObject({ key: 'b', tokens: 1 });
  });
});

describe.each(['sync', 'async'] as const)('a lock is released instead (driver: %s)', (manner) => {
  async function afterRelease(options: Parameters<typeof line>[0] & object): Promise<Line> {
    const start = await line({ manner, ...options });
    await start.first.release();
    await start.scene.clock.settle();
    return start;
  }

  it('when a renewal was not confirmed', async () => {
    const start = await line({ manner });
    start.scene.driver.manner.renew = 'reject';
    await start.scene.clock.advance(12_000);
    expect(start.first.held).toBe(true);
    expect(start.first.remaining).toBeGreaterThan(15_000);
    start.scene.driver.calls = [];

    await start.first.release();
    await start.scene.clock.settle();

    expect(passage(start)).toBe('released');
    expect(start.next.get().held).toBe(true);
  });

  it('when less than half of its ttl is left', async () => {
    const start = await line({
      manner,
      first: { autoExtend: false },
      next: { autoExtend: false },
    });
    await start.scene.clock.advance(14_695);
    expect(start.first.remaining).toBe(15_000);
    await start.scene.clock.advance(1);

    await start.first.release();
    await start.scene.clock.settle();

    expect(passage(start)).toBe('released');
    expect(start.next.get().remaining).toBeGreaterThan(29_000);
  });

  it('but not while half of its ttl is left', async () => {
    const start = await line({
      manner,
      first: { autoExtend: false },
      next: { autoExtend: false },
    });
    await start.scene.clock.advance(14_695);

    await start.first.release();
    await start.scene.clock.settle();

    expect(passage(start)).toBe('handed over');
  });

  it.each([60_000, 20_000])('when it was extended to another ttl (%d)', async (ttl) => {
    const start = await line({ manner });
    await start.first.extend(ttl);
    start.scene.driver.calls = [];

    await start.first.release();
    await start.scene.clock.settle();

    expect(passage(start)).toBe('released');
    expect(start.next.get().remaining).toBeGreaterThan(29_000);
    expect(start.next.get().remaining).toBeLessThan(30_000);
  });

  it('when it was extended to another ttl, even to the one that the next one wants', async () => {
    const start = await line({ manner, next: { ttl: 60_000 } });
    await start.first.extend(60_000);
    start.scene.driver.calls = [];

    await start.first.release();
    await start.scene.clock.settle();

    expect(passage(start)).toBe('released');
    expect(start.next.get().held).toBe(true);
  });

  it('when minHold is not over: the key stays taken, for the next one too', async () => {
    const start = await afterRelease({ first: { minHold: 50 } });

    expect(passage(start)).toBe('released');
    expect(start.scene.driver.calls[0]?.request).toMatchObject({ retainFor: 50 });
    await start.scene.clock.advance(49);
    expect(start.next.settled).toBe(false);
    await start.scene.clock.advance(2);
    expect(start.next.get().held).toBe(true);
  });

  it.each([
    { what: 'another ttl', next: { ttl: 20_000 } },
    { what: 'no renewal', next: { autoExtend: false } },
    { what: 'no hand-over', next: { handover: false } },
  ])('when the next one wants $what', async ({ next }) => {
    const start = await afterRelease({ next });

    expect(passage(start)).toBe('released');
    expect(start.next.get().held).toBe(true);
  });

  it('when the one that ends wants no hand-over', async () => {
    const start = await afterRelease({ first: { handover: false } });

    expect(passage(start)).toBe('released');
    expect(start.next.get().held).toBe(true);
  });

  it('when the one that ends wants no hand-over, though it has got the block of one that does', async () => {
    const scene = new Scene({ manner: 'async', wait: Infinity });
    await scene.warmUp();
    scene.driver.manner.acquire = 'manual';
    const controller = new AbortController();
    await scene.ask('k', { signal: controller.signal });
    const first = await scene.ask('k', { handover: false });
    const next = await scene.ask('k');
    controller.abort();
    scene.driver.next('acquire').answer();
    scene.driver.manner.acquire = manner;
    await scene.clock.settle();
    scene.driver.calls = [];

    await first.get().release();
    await scene.clock.settle();

    expect(passage({ scene, first: first.get(), next })).toBe('released');
    expect(next.get().held).toBe(true);
  });

  it('when the next one wants several keys', async () => {
    const scene = new Scene({ manner, handoverMaxTime: Infinity });
    await scene.warmUp();
    const first = await scene.here.acquire('k');
    const several = scene.here.acquireAll(['k', 'l']);
    await scene.clock.settle();
    scene.driver.calls = [];

    await first.release();
    const both = await several;

    expect(scene.driver.count('release')).toBe(1);
    expect(both.held).toBe(true);
    expect(both.fencingTokens[0]).toBeGreaterThan(first.fencingToken);
    expect(both.owner).not.toBe(first.owner);
  });

  it('when the time of the run is over', async () => {
    const start = await line({ manner, handoverMaxTime: 100 });
    await start.scene.clock.advance(100);

    await start.first.release();
    await start.scene.clock.settle();

    expect(passage(start)).toBe('released');
    expect(start.next.get().held).toBe(true);
  });

  it('when the block of tokens is used up', async () => {
    const scene = new Scene({ manner });
    await scene.warmUp('k');
    const lock = await scene.here.acquire('k');
    await lock.release();
    scene.clock.block(0.004);
    const locks: EngineHandle[] = [];
    const work = Array.from({ length: 6 }, async () => {
      const turn = await scene.here.acquire('k');
      expect(locks.some(({ held }) => held)).toBe(false);
      locks.push(turn);
      await turn.release();
    });

    await scene.clock.settle();
    await Promise.all(work);

    const owners = [...new Set(locks.map(({ owner }) => owner))];
    const turns = owners.map((owner) => locks.filter((turn) => turn.owner === owner).length);
    expect(turns[0]).toBeGreaterThanOrEqual(3);
    expect(turns[0]).toBeLessThanOrEqual(4);
    expect(owners.length).toBeGreaterThan(1);
    const tokens = locks.map(({ fencingToken }) => fencingToken);
    expect(tokens).toEqual([...tokens].toSorted((a, b) => Number(a - b)));
    expect(new Set(tokens).size).toBe(6);
  });
});

describe.each(['sync', 'async'] as const)('a lock lost in a line (driver: %s)', (manner) => {
  it('is lost for the current turn alone: those who wait contend anew', async () => {
    const { scene, first, next } = await line({ manner });
    const third = await scene.ask('k');
    const lost = new Promise<unknown>((resolve) => {
      first.signal.addEventListener('abort', () => resolve(first.signal.reason));
    });

    scene.driver.backend.forceRelease('k');
    await scene.clock.advance(12_000);

    await expect(lost).resolves.toMatchObject({ name: 'LockLostError', reason: 'taken' });
    expect(first.held).toBe(false);
    expect(next.get().held).toBe(true);
    expect(next.get().owner).not.toBe(first.owner);
    expect(next.get().signal.aborted).toBe(false);
    expect(third.settled).toBe(false);
  });

  it('after it was handed over is lost for the one that has it now, and not for the one before', async () => {
    const { scene, first, next } = await line({ manner });
    const { signal } = first;
    await first.release();
    await scene.clock.settle();

    scene.driver.backend.forceRelease('k');
    await scene.clock.advance(12_000);

    expect(next.get().signal.aborted).toBe(true);
    expect(signal.aborted).toBe(false);
  });
});
