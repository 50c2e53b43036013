import { describe, expect, it } from 'vitest';
import type {
  AcquireRequest,
  ReleaseResult,
} from '../../../lib/interfaces/lock-driver.interface.js';
import { inEverySetting, Scene, type SceneOptions } from '../../support/scene.js';

/** A lock that was held here, is wanted there, and has just been released; the other process has not noticed yet. */
async function wantedElsewhere(options: SceneOptions): Promise<Scene> {
  const scene = new Scene(options);
  await scene.warmUp();
  const holder = await scene.here.acquire('k');
  await scene.ask('k', { wait: Infinity }, scene.there);
  scene.otherDriver.deaf = true;
  scene.driver.calls = [];
  await holder.release();
  return scene;
}

inEverySetting('the mark of those who want a lock', (options) => {
  it('is left by a denied try that will come back', async () => {
    const scene = new Scene(options);
    const holder = await scene.there.acquire('k');

    await scene.ask('k');

    const { wantFor } = scene.driver.calls.at(-1)!.request as AcquireRequest;
    expect(wantFor).toBeGreaterThan(0);
    const released = scene.driver.backend.release({ key: 'k', owner: holder.owner });
    expect(released.wantedFor).toBe(wantFor);
  });

  it('is not left by one that does not', async () => {
    const scene = new Scene(options);
    const holder = await scene.there.acquire('k');

    await scene.ask('k', { wait: 0 });

    const released = scene.driver.backend.release({ key: 'k', owner: holder.owner });
    expect(released.wantedFor).toBeUndefined();
  });
});

inEverySetting('a process that gives back a lock which others want', (options) => {
  it('lets them go first, newcomers of its own included', async () => {
    const scene = await wantedElsewhere(options);
    const newcomer = await scene.ask('k');
    const another = await scene.ask('k');

    await scene.clock.advance(9);
    expect(scene.driver.count('acquire')).toBe(0);
    expect(newcomer.settled).toBe(false);

    await scene.clock.advance(1);
    expect(newcomer.get().held).toBe(true);
    expect(another.settled).toBe(false);
  });

  it('does so for three round trips where those take longer than 10 ms', async () => {
    const scene = new Scene({ ...options, manner: 'manual' });
    const { clock, driver } = scene;
    const holder = await scene.ask('k');
    await clock.advance(20);
    driver.next('acquire').answer();
    await clock.settle();
    void holder.get().release();
    driver.next<ReleaseResult>('release').answer({ released: true, wantedFor: 500 });
    await clock.settle();
    await scene.ask('k');

    await clock.advance(59);
    expect(driver.commands).toHaveLength(0);
    await clock.advance(1);
    expect(driver.commands).toHaveLength(1);
  });

  it('does so until they must have come, where no notices tell them', async () => {
    const scene = new Scene({ ...options, notices: false, manner: 'manual' });
    const { clock, driver } = scene;
    const holder = await scene.ask('k');
    driver.next('acquire').answer();
    await clock.settle();
    void holder.get().release();
    driver.next<ReleaseResult>('release').answer({ released: true, wantedFor: 500 });
    await clock.settle();
    await scene.ask('k');

    await clock.advance(499);
    expect(driver.commands).toHaveLength(0);
    await clock.advance(1);
    expect(driver.commands).toHaveLength(1);
  });

  it('does so for no longer than they have said they want it', async () => {
    const scene = new Scene({ ...options, manner: 'manual' });
    const { clock, driver } = scene;
    const holder = await scene.ask('k');
    await clock.advance(4000);
    driver.next('acquire').answer();
    await clock.settle();
    void holder.get().release();
    driver.next<ReleaseResult>('release').answer({ released: true, wantedFor: 500 });
    await clock.settle();
    await scene.ask('k');

    await clock.advance(499);
    expect(driver.commands).toHaveLength(0);
    await clock.advance(1);
    expect(driver.commands).toHaveLength(1);
  });

  it('takes no answer that came long after its time for a round trip', async () => {
    const scene = new Scene({ ...options, manner: 'manual' });
    const { clock, driver } = scene;
    await scene.ask('k', { wait: 10 });
    const late = driver.next('acquire');
    driver.manner.release = 'async';
    await clock.advance(60_000);
    late.answer();
    await clock.settle();

    const holder = await scene.ask('k');
    driver.next('acquire').answer();
    await clock.settle();
    driver.manner.release = 'manual';
    void holder.get().release();
    driver.next<ReleaseResult>('release').answer({ released: true, wantedFor: 500 });
    await clock.settle();
    await scene.ask('k');
    await clock.advance(10);

    expect(driver.commands).toHaveLength(1);
  });

  it('is not woken by a notice meanwhile', async () => {
    const scene = new Scene({ ...options, handoverMaxTime: 0 });
    const { backend } = scene.driver;
    backend.acquire({ key: 'k', owner: 'x', ttl: 30_000 });
    const first = await scene.ask('k', { wait: Infinity });
    await scene.ask('k', { wait: Infinity });
    backend.release({ key: 'k', owner: 'x' });
    await scene.clock.settle();
    backend.acquire({ key: 'k', owner: 'x', ttl: 30_000, wantFor: 500 });
    scene.driver.calls = [];
    await first.get().release();
    expect(scene.driver.listeners).toBe(1);

    backend.acquire({ key: 'k', owner: 'x', ttl: 30_000 });
    await scene.clock.advance(5);
    backend.release({ key: 'k', owner: 'x' });
    await scene.clock.settle();

    expect(scene.driver.count('acquire')).toBe(0);
    await scene.clock.advance(5);
    expect(scene.driver.count('acquire')).toBe(1);
  });

  it('tells newcomers whose time is over meanwhile that the lock is busy', async () => {
    const scene = await wantedElsewhere({ ...options, notices: false });

    const newcomer = await scene.ask('k', { wait: 5 });
    await scene.clock.advance(5);

    expect(newcomer.error?.name).toBe('LockTimeoutError');
  });

  it('is kept alive by that only while somebody waits here', async () => {
    const scene = await wantedElsewhere({ ...options, notices: false });
    await scene.there.engine.stop();
    expect(scene.clock.refTimers).toBe(0);

    await scene.ask('k', { wait: 5 });
    expect(scene.clock.refTimers).toBeGreaterThan(0);

    await scene.clock.advance(5);
    expect(scene.clock.refTimers).toBe(0);
    await scene.clock.advance(60_000);
    expect(scene.clock.timers).toBe(0);
  });
});

inEverySetting(
  'a process that gives back a lock which others want while its own wait',
  (options) => {
    async function twoTurns(hold: number): Promise<Scene> {
      const scene = new Scene({ ...options, notices: false, handoverMaxTime: 100 });
      // Another ttl: the lock goes back to the backend between the two.
      const first = await scene.here.acquire('k', { ttl: 20_000 });
      await scene.ask('k', { wait: Infinity });
      await scene.ask('k', { wait: Infinity }, scene.there);
      await scene.clock.advance(hold);
      await scene.ask('k', { wait: Infinity }, scene.there);
      scene.driver.calls = [];
      await first.release();
      await scene.clock.settle();
      return scene;
    }

    it('goes on at once while its time is not over', async () => {
      const scene = await twoTurns(50);

      expect(scene.driver.count('release')).toBe(1);
      expect(scene.driver.count('acquire')).toBe(1);
    });

    it('stands back when its own have all been served, though its last grant had cleared the mark', async () => {
      const scene = new Scene({ ...options, notices: false });
      const first = await scene.here.acquire('k', { ttl: 20_000 });
      const second = await scene.ask('k', { wait: Infinity });
      const other = await scene.ask('k', { wait: Infinity }, scene.there);
      await first.release();
      await scene.clock.settle();

      await second.get().release();
      const newcomer = await scene.ask('k', { wait: Infinity });
      expect(newcomer.settled).toBe(false);
      await scene.clock.advance(30);

      expect(other.get().held).toBe(true);
    });

    it('stands back when its time is over', async () => {
      const scene = await twoTurns(100);

      expect(scene.driver.count('release')).toBe(1);
      expect(scene.driver.count('acquire')).toBe(0);
    });
  },
);

inEverySetting('a process alone', (options) => {
  it('is never slowed, however often it takes and gives back a lock', async () => {
    const scene = new Scene(options);
    const now = scene.clock.now();

    for (let i = 0; i < 200; i++) {
      const lock = await scene.here.acquire('k');
      await lock.release();
    }

    expect(scene.clock.now()).toBe(now);
    expect(scene.driver.count('acquire')).toBe(200);
  });

  it('is never slowed by waiters of its own', async () => {
    const scene = new Scene(options);
    await scene.warmUp();
    const now = scene.clock.now();
    const work = Array.from({ length: 200 }, async () => {
      const lock = await scene.here.acquire('k');
      await lock.release();
    });

    await scene.clock.settle();
    await Promise.all(work);

    expect(scene.clock.now()).toBe(now);
  });

  it('is not slowed by its own mark, from when it waited for somebody else', async () => {
    const scene = new Scene({ ...options, notices: false });
    const holder = await scene.there.acquire('k');
    const waiter = await scene.ask('k', { wait: Infinity });
    await scene.clock.advance(5000);
    await holder.release();
    await scene.clock.advance(800);
    const now = scene.clock.now();

    await waiter.get().release();
    const lock = await scene.here.acquire('k');

    expect(lock.held).toBe(true);
    expect(scene.clock.now()).toBe(now);
  });
});

describe('a used-up block of tokens', () => {
  it('makes the process release and contend on, without standing back', async () => {
    const scene = new Scene({ notices: false });
    // A key that the backend does not know yet is granted with a single token.
    const first = await scene.here.acquire('k');
    const second = await scene.ask('k');
    await scene.ask('k', { wait: Infinity }, scene.there);

    await first.release();
    await scene.clock.settle();

    expect(second.get().held).toBe(true);
    expect(second.get().owner).not.toBe(first.owner);
  });
});

/** A process gave the lock to one of several others, waits again, and that one has it. */
async function afterOwnTurn(wantedBy: number | undefined): Promise<Scene> {
  const scene = new Scene({ manner: 'async' });
  const { driver } = scene;
  const holder = await scene.here.acquire('k');
  const waiting = await scene.ask('k', { wait: Infinity }, scene.there);
  driver.release = async (lease) => {
    const result = driver.backend.release(lease);
    return result.wantedFor ? { ...result, wantedBy } : result;
  };
  await holder.release();
  await scene.ask('k', { wait: Infinity });
  await scene.clock.advance(20);
  expect(waiting.get().held).toBe(true);
  driver.calls = [];
  return scene;
}

/** It is released, and one that nobody knows takes it at once. */
async function nextRelease(scene: Scene): Promise<void> {
  scene.driver.backend.forceRelease('k');
  scene.driver.backend.acquire({ key: 'k', owner: 'another', ttl: 60_000 });
  await scene.clock.settle();
}

describe('a process that others have waited for', () => {
  it.each([undefined, 0, 1])('tries at once when the only other one is done (%s)', async (by) => {
    const scene = await afterOwnTurn(by);
    await nextRelease(scene);
    expect(scene.driver.count('acquire')).toBe(1);
  });

  it('lets each of the others go first, once', async () => {
    const scene = await afterOwnTurn(3);
    for (const delay of [10, 5]) {
      scene.driver.calls = [];
      await nextRelease(scene);
      await scene.clock.advance(delay - 1);
      expect(scene.driver.count('acquire')).toBe(0);
      await scene.clock.advance(1);
      expect(scene.driver.count('acquire')).toBe(1);
    }
    scene.driver.calls = [];
    await nextRelease(scene);
    expect(scene.driver.count('acquire')).toBe(1);
  });

  it('takes the lock all the same if they do not', async () => {
    const scene = await afterOwnTurn(3);
    scene.driver.backend.forceRelease('k');
    await scene.clock.advance(10);
    expect(scene.driver.inspect('k')?.owner).toMatch(/^pod-1:7#/);
  });
});
