import { expect, it } from 'vitest';
import { LockTimeoutError } from '../../../lib/errors/lock-timeout.error.js';
import type {
  AcquireRequest,
  ReleaseResult,
} from '../../../lib/interfaces/lock-driver.interface.js';
import { inEverySetting, Scene } from '../../support/scene.js';

const NOW = { wait: 0 };

inEverySetting('a caller that does not wait', (options) => {
  it('gets a lock that is free', async () => {
    const scene = new Scene(options);

    const lock = await scene.here.acquire('k', NOW);

    expect(lock.held).toBe(true);
  });

  it('is told who holds a lock elsewhere, after one try that leaves no mark', async () => {
    const scene = new Scene(options);
    const holder = await scene.there.acquire('k');

    const caller = await scene.ask('k', NOW);

    expect(caller.error).toBeInstanceOf(LockTimeoutError);
    expect(caller.error).toMatchObject({ owner: holder.owner, waited: 0 });
    expect(scene.driver.count('acquire')).toBe(1);
    expect((scene.driver.calls[0]!.request as AcquireRequest).wantFor).toBeUndefined();
    expect(scene.driver.backend.release({ key: 'k', owner: holder.owner })).toEqual({
      released: true,
    });
    expect(scene.driver.listeners).toBe(0);
  });

  it('is busy without a round trip where somebody here holds the lock', async () => {
    const scene = new Scene(options);
    const holder = await scene.here.acquire('k');
    scene.driver.calls = [];

    const caller = await scene.ask('k', NOW);

    expect(caller.error).toMatchObject({ name: 'LockTimeoutError', owner: holder.owner });
    expect(scene.driver.calls).toEqual([]);
  });

  it('is busy without a round trip where somebody here waits', async () => {
    const scene = new Scene(options);
    await scene.there.acquire('k');
    await scene.ask('k');
    scene.driver.calls = [];

    const caller = await scene.ask('k', NOW);

    expect(caller.error).toBeInstanceOf(LockTimeoutError);
    expect(scene.driver.calls).toEqual([]);
  });

  it('is busy without a round trip where somebody here is trying', async () => {
    const scene = new Scene({ ...options, manner: 'manual' });
    const first = await scene.ask('k', NOW);

    const second = await scene.ask('k', NOW);

    expect(second.error).toBeInstanceOf(LockTimeoutError);
    expect(scene.driver.count('acquire')).toBe(1);
    scene.driver.next('acquire').answer();
    await scene.clock.settle();
    expect(first.get().held).toBe(true);
  });

  it('is busy without a round trip while the process stands back for others', async () => {
    const scene = new Scene({ ...options, notices: false });
    const holder = await scene.here.acquire('k');
    await scene.ask('k', {}, scene.there);
    await holder.release();
    scene.driver.calls = [];

    const caller = await scene.ask('k', NOW);

    expect(scene.isLocked()).toBe(false);
    expect(caller.error).toBeInstanceOf(LockTimeoutError);
    expect(scene.driver.calls).toEqual([]);
  });

  it('does not run past those who wait when the lock becomes free', async () => {
    const scene = new Scene(options);
    const holder = await scene.here.acquire('k');
    const waiter = await scene.ask('k');

    const released = holder.release();
    const caller = await scene.ask('k', NOW);
    await released;

    expect(caller.error).toBeInstanceOf(LockTimeoutError);
    expect(waiter.get().held).toBe(true);
  });
});

inEverySetting('a caller that does not wait, while a release is under way', (options) => {
  async function releasing(): Promise<Scene> {
    const scene = new Scene(options);
    await scene.warmUp();
    const holder = await scene.here.acquire('k');
    scene.driver.manner.release = 'manual';
    void holder.release();
    scene.driver.calls = [];
    return scene;
  }

  it('waits for the answer and gets the lock', async () => {
    const scene = await releasing();
    const caller = await scene.ask('k', NOW);
    expect(caller.settled).toBe(false);
    expect(scene.driver.calls).toEqual([]);

    scene.driver.next('release').answer();
    await scene.clock.settle();

    expect(caller.get().held).toBe(true);
    expect(scene.driver.count('acquire')).toBe(1);
  });

  it('is not counted among those who wait', async () => {
    const scene = await releasing();
    const caller = await scene.ask('k', { wait: 0, maxWaiters: 0 });

    scene.driver.next('release').answer();
    await scene.clock.settle();

    expect(caller.get().held).toBe(true);
  });

  it('tries once: it is busy when somebody else was faster', async () => {
    const scene = await releasing();
    const caller = await scene.ask('k', NOW);
    const release = scene.driver.next('release');
    release.apply();
    await scene.there.acquire('k');

    release.answer();
    await scene.clock.settle();

    expect(caller.error).toBeInstanceOf(LockTimeoutError);
    expect(scene.driver.count('acquire')).toBe(1);
    expect(scene.driver.listeners).toBe(0);
  });

  it('is busy when another one waits for that already', async () => {
    const scene = await releasing();
    const first = await scene.ask('k', NOW);

    const second = await scene.ask('k', NOW);

    expect(second.error).toBeInstanceOf(LockTimeoutError);
    expect(first.settled).toBe(false);
  });

  it('lets those behind it wait on when it is denied', async () => {
    const scene = await releasing();
    const caller = await scene.ask('k', NOW);
    const waiter = await scene.ask('k');
    const release = scene.driver.next('release');
    release.apply();
    const other = await scene.there.acquire('k');
    release.answer();
    await scene.clock.settle();
    expect(caller.error).toBeInstanceOf(LockTimeoutError);
    expect(waiter.settled).toBe(false);

    scene.driver.manner.release = 'async';
    await other.release();
    await scene.clock.advance(20);
    expect(waiter.get().held).toBe(true);
  });

  it('waits no longer than a sixth of the ttl for an answer that does not come', async () => {
    const scene = await releasing();
    const caller = await scene.ask('k', NOW);

    await scene.clock.advance(4999);
    expect(caller.settled).toBe(false);
    scene.driver.manner.release = 'async';
    await scene.clock.advance(1);

    expect(scene.driver.count('acquire')).toBe(1);
    expect(caller.settled).toBe(true);
  });

  it('is busy when others want the lock and this process stands back for them', async () => {
    const scene = await releasing();
    const caller = await scene.ask('k', NOW);
    await scene.clock.advance(200);

    scene.driver.next<ReleaseResult>('release').answer({ released: true, wantedFor: 500 });
    await scene.clock.settle();

    expect(caller.error).toBeInstanceOf(LockTimeoutError);
    expect(scene.driver.count('acquire')).toBe(0);
  });
});
