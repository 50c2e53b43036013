import { beforeEach, describe, expect, it, vi } from 'vitest';
import type {
  AcquireRequest,
  ReleaseRequest,
} from '../../../lib/interfaces/lock-driver.interface.js';
import { follow, LeaseScene, numbers, TTL } from './lease-scene.js';

function owners(scene: LeaseScene): string[] {
  return scene.requests<AcquireRequest>('acquire').map(({ owner }) => owner);
}

/** Whom releases were sent for. */
function released(scene: LeaseScene): string[] {
  return scene.requests<ReleaseRequest>('release').map(({ owner }) => owner);
}

describe('an owner', () => {
  let scene: LeaseScene;

  beforeEach(() => {
    scene = new LeaseScene('async');
  });

  it('is new for every contention, and names the process', async () => {
    for (let i = 0; i < 5; i++) {
      await (await scene.acquire('k')).release();
    }
    await scene.acquire('other');
    expect(new Set(owners(scene)).size).toBe(6);
    for (const owner of owners(scene)) {
      expect(owner).toMatch(/^node-1:1#[\w-]{12}\.\w+$/);
    }
  });

  it('differs between two engines of the same name', async () => {
    const twin = new LeaseScene('async');
    const [a, b] = [await scene.acquire('k'), await twin.acquire('k')];
    expect(a.owner).not.toBe(b.owner);
  });

  it('is kept through tries that were denied', async () => {
    scene.driver.backend.acquire({ key: 'k', owner: 'other:1#x', ttl: 3000 });
    const lock = follow(scene.acquire('k'));
    await scene.clock.advance(3001);
    expect(owners(scene).length).toBeGreaterThan(4);
    expect(new Set(owners(scene)).size).toBe(1);
    expect(lock.value?.owner).toBe(owners(scene)[0]);
  });

  it.each(['reject', 'hang'] as const)(
    'is used no more after a try that may have left something behind (%s)',
    async (manner) => {
      scene = new LeaseScene('async', { wait: Infinity });
      scene.driver.manner.acquire = manner;
      const lock = follow(scene.acquire('k'));
      await scene.clock.advance(TTL);
      scene.driver.manner.acquire = 'async';
      await scene.clock.advance(TTL);
      expect(lock.value?.held).toBe(true);
      expect(new Set(owners(scene)).size).toBe(owners(scene).length);
      expect(released(scene)).not.toContain(lock.value!.owner);
      expect(new Set(released(scene))).toEqual(new Set(owners(scene).slice(0, -1)));
    },
  );

  it('is used no more, for whatever, after a release was sent for it', async () => {
    scene = new LeaseScene('async', { wait: Infinity, handoverMaxTime: 0 });
    Object.assign(scene.driver.manner, { release: 'reject' });
    const dead = new Set<string>();
    const misused: string[] = [];
    const note = (owner: string): void => void (dead.has(owner) && misused.push(owner));
    const { driver } = scene;
    const [acquire, renew, release] = [
      driver.acquire.bind(driver),
      driver.renew.bind(driver),
      driver.release.bind(driver),
    ];
    vi.spyOn(scene.driver, 'acquire').mockImplementation((request) => {
      note(request.owner);
      return acquire(request);
    });
    vi.spyOn(scene.driver, 'renew').mockImplementation((requests) => {
      requests.forEach(({ owner }) => note(owner));
      return renew(requests);
    });
    vi.spyOn(scene.driver, 'release').mockImplementation((request) => {
      dead.add(request.owner);
      return release(request);
    });
    const work = Array.from({ length: 6 }, (_, i) =>
      scene.withLock('k', () => scene.clock.setTimeout(() => undefined, i)),
    );
    await scene.clock.advance(3000);
    scene.driver.manner.release = 'async';
    await scene.clock.advance(10 * TTL);
    await Promise.all(work);
    expect(dead.size).toBe(6);
    expect(misused).toEqual([]);
  });

  it('is shown by all turns of its lease, each with a token of its own', async () => {
    await (await scene.acquire('k')).release();
    await scene.clock.advance(10);
    const first = await scene.acquire('k');
    const second = follow(scene.acquire('k'));
    await scene.clock.settle();
    await first.release();
    await scene.clock.settle();
    expect(second.value).toMatchObject({ owner: first.owner, held: true });
    expect(second.value!.fencingToken).toBe(first.fencingToken + 1n);
    await second.value!.release();
    const third = await scene.acquire('k');
    expect(third.owner).not.toBe(first.owner);
    expect(third.fencingToken).toBeGreaterThan(second.value!.fencingToken);
  });
});

describe('an acquire that nobody waits for any more', () => {
  let scene: LeaseScene;

  beforeEach(() => {
    scene = new LeaseScene('async', { wait: 1000 });
    scene.driver.manner.acquire = 'manual';
  });

  it('is followed by a release of its owner at once', async () => {
    const lock = follow(scene.acquire('k'));
    await scene.clock.advance(1000);
    expect(lock.state).toBe('rejected');
    expect(released(scene)).toEqual(owners(scene));
    expect(scene.times('release')).toEqual([1000]);
  });

  it('is followed by one when the caller’s signal aborts', async () => {
    const leaving = new AbortController();
    const lock = follow(scene.acquire('k', { signal: leaving.signal }));
    leaving.abort();
    await scene.clock.settle();
    expect(lock.error).toMatchObject({ code: 'LOCK_ABORTED' });
    expect(released(scene)).toEqual(owners(scene));
  });

  it('is released when it is granted in the end', async () => {
    void follow(scene.acquire('k'));
    await scene.clock.advance(1000);
    scene.driver.next('acquire').answer();
    await scene.clock.settle();
    expect(scene.driver.count('release')).toBe(2);
    expect(scene.driver.inspect('k')).toBeNull();
    expect(scene.clock.timers).toBe(0);
  });

  it('is released even when it is granted after all was given up', async () => {
    void follow(scene.acquire('k'));
    await scene.clock.advance(10 * TTL);
    expect(scene.clock.timers).toBe(0);
    scene.driver.next('acquire').answer();
    await scene.clock.settle();
    expect(scene.driver.inspect('k')).toBeNull();
    expect(scene.clock.timers).toBe(0);
  });

  it('is released again when the release overtook it and its answer never comes', async () => {
    void follow(scene.acquire('k'));
    await scene.clock.advance(1000);
    expect(scene.driver.inspect('k')).toBeNull();
    scene.driver.next('acquire').apply();
    expect(scene.driver.inspect('k')).toMatchObject({ owner: owners(scene)[0] });
    await scene.clock.advance(TTL / 6);
    expect(scene.driver.inspect('k')).toBeNull();
  });

  it('is released again when a client sends it once more after it was released', async () => {
    void follow(scene.acquire('k'));
    scene.driver.next('acquire').apply();
    await scene.clock.advance(1000);
    expect(scene.driver.inspect('k')).toBeNull();
    scene.driver.backend.acquire(scene.requests<AcquireRequest>('acquire')[0]!);
    expect(scene.driver.inspect('k')).not.toBeNull();
    await scene.clock.advance(TTL / 6);
    expect(scene.driver.inspect('k')).toBeNull();
  });

  it('is released again when the release overtook it, though that was answered', async () => {
    scene.driver.manner.release = 'manual';
    void follow(scene.acquire('k'));
    await scene.clock.advance(1000);
    scene.driver.next('release').answer();
    await scene.clock.settle();
    const acquire = scene.driver.next('acquire');
    acquire.apply();
    acquire.answer();
    await scene.clock.settle();
    scene.driver.next('release').answer();
    await scene.clock.settle();
    expect(scene.driver.inspect('k')).toBeNull();
    expect(scene.clock.timers).toBe(0);
  });

  it('needs no more releases once it was denied', async () => {
    scene.driver.backend.acquire({ key: 'k', owner: 'other:1#x', ttl: 60_000 });
    void follow(scene.acquire('k'));
    await scene.clock.advance(1000);
    scene.driver.next('acquire').answer();
    await scene.clock.settle();
    expect(scene.clock.timers).toBe(0);
    await scene.clock.advance(10 * TTL);
    expect(scene.times('release')).toEqual([1000]);
  });

  it('needs more releases when it failed late, until one frees something', async () => {
    void follow(scene.acquire('k'));
    await scene.clock.advance(1000);
    const acquire = scene.driver.next('acquire');
    acquire.fail();
    await scene.clock.advance(100);
    acquire.apply();
    await scene.clock.advance(TTL);
    expect(scene.driver.inspect('k')).toBeNull();
    expect(scene.clock.timers).toBe(0);
  });

  it('is released until two ttl have passed since it was sent, ever more seldom, and then no more', async () => {
    scene.driver.manner.acquire = 'hang';
    void follow(scene.acquire('k'));
    await scene.clock.advance(10 * TTL);
    const times = scene.times('release');
    expect(times.length).toBeGreaterThanOrEqual(4);
    expect(times.at(-1)).toBe(2 * TTL);
    const pauses = times.slice(1, -1).map((time, i) => time - times[i]!);
    expect(pauses).toEqual(pauses.toSorted((a, b) => a - b));
    expect(scene.clock.timers).toBe(0);
  });

  it('is released until then when the releases fail too', async () => {
    scene.driver.manner.acquire = 'hang';
    scene.driver.manner.release = 'reject';
    void follow(scene.acquire('k'));
    await scene.clock.advance(10 * TTL);
    expect(scene.driver.count('release')).toBeGreaterThanOrEqual(4);
    expect(scene.clock.timers).toBe(0);
  });

  it('does not keep the process alive', async () => {
    scene.driver.manner.acquire = 'hang';
    void follow(scene.acquire('k'));
    await scene.clock.advance(1000);
    expect(scene.clock.timers).toBeGreaterThan(0);
    expect(scene.clock.refTimers).toBe(0);
  });

  it('does not take the lock from those who come after', async () => {
    void follow(scene.acquire('k'));
    await scene.clock.advance(1000);
    scene.driver.next('acquire').apply();
    scene.driver.manner.acquire = 'async';
    const next = follow(scene.acquire('k', { wait: Infinity }));
    await scene.clock.advance(10 * TTL);
    expect(next.value?.held).toBe(true);
    expect(scene.driver.inspect('k')).toMatchObject({ owner: next.value!.owner });
  });
});

describe('an acquire that fails', () => {
  it.each(['reject', 'throw'] as const)(
    'but was carried out (%s) is given back',
    async (manner) => {
      const scene = new LeaseScene('async', { wait: 0 });
      const { driver } = scene;
      vi.spyOn(driver, 'acquire').mockImplementationOnce((request) => {
        driver.backend.acquire(request);
        if (manner === 'throw') {
          throw new Error('connection lost');
        }
        return Promise.reject(new Error('connection lost'));
      });
      await expect(scene.acquire('k')).rejects.toMatchObject({ code: 'LOCK_DRIVER' });
      await scene.clock.advance(TTL / 6);
      expect(driver.inspect('k')).toBeNull();
      await scene.clock.advance(2 * TTL);
      expect(scene.clock.timers).toBe(0);
    },
  );

  it('and is carried out only then is given back too', async () => {
    const scene = new LeaseScene('async', { wait: 0 });
    scene.driver.manner.acquire = 'manual';
    const lock = follow(scene.acquire('k'));
    const acquire = scene.driver.next('acquire');
    acquire.fail();
    await scene.clock.settle();
    expect(lock.state).toBe('rejected');
    acquire.apply();
    expect(scene.driver.inspect('k')).not.toBeNull();
    await scene.clock.advance(TTL / 6);
    expect(scene.driver.inspect('k')).toBeNull();
  });

  it('does not cost the next try its lock, whatever becomes of it', async () => {
    const scene = new LeaseScene('async', { wait: Infinity });
    scene.driver.manner.acquire = 'manual';
    const lock = follow(scene.acquire('k'));
    await scene.clock.advance(TTL / 2 + 10);
    const [slow, second] = [scene.driver.next('acquire'), scene.driver.next('acquire')];
    second.answer();
    await scene.clock.settle();
    expect(lock.value?.held).toBe(true);
    slow.answer();
    await scene.clock.advance(10 * TTL);
    expect(lock.value?.held).toBe(true);
    expect(scene.driver.inspect('k')).toMatchObject({ owner: lock.value!.owner });
  });

  it('is the only try under way, however many wait', async () => {
    const scene = new LeaseScene('async', { wait: Infinity });
    scene.driver.manner.acquire = 'manual';
    const locks = Array.from({ length: 20 }, () => follow(scene.acquire('k')));
    await scene.clock.settle();
    expect(scene.driver.commands).toHaveLength(1);
    scene.driver.next('acquire').fail();
    await scene.clock.advance(10);
    expect(scene.driver.commands).toHaveLength(1);
    expect(locks.every(({ state }) => state === 'pending')).toBe(true);
  });
});

describe('a driver that answers a compensating release with rubbish', () => {
  it.each([undefined, null, 'yes', {}])(
    '(%j) is asked again until two ttl are over',
    async (rubbish) => {
      const scene = new LeaseScene('async', { wait: 0 });
      scene.driver.manner.acquire = 'reject';
      const release = vi
        .spyOn(scene.driver, 'release')
        .mockImplementation(() => Promise.resolve(rubbish as never));
      await expect(scene.acquire('k')).rejects.toMatchObject({ code: 'LOCK_DRIVER' });
      await scene.clock.advance(10 * TTL);
      expect(release.mock.calls.length).toBeGreaterThan(2);
      expect(scene.clock.timers).toBe(0);
    },
  );
});

describe('whatever becomes of commands', () => {
  /** A backend where each acquire, its answer and each release may be lost, late or in the wrong order. */
  it('nothing stays locked for longer than two ttl after the last who wanted it has left', async () => {
    for (let seed = 1; seed <= 40; seed++) {
      const scene = new LeaseScene('async', { wait: 900 });
      scene.driver.manner.acquire = 'manual';
      const random = numbers(seed);
      for (let i = 0; i < 6; i++) {
        const lock = follow(scene.acquire('k'));
        await scene.clock.advance(random(1500));
        for (const command of scene.driver.commands.splice(0)) {
          const fates = [
            () => command.apply(),
            () => command.answer(),
            () => command.fail(),
            () => {
              command.apply();
              command.fail();
            },
            () => undefined,
          ];
          fates[random(fates.length)]!();
        }
        await scene.clock.advance(random(1500));
        await lock.value?.release();
      }
      await scene.clock.advance(2 * TTL + 2000);
      expect({ seed, lock: scene.driver.inspect('k') }).toEqual({ seed, lock: null });
      expect({ seed, timers: scene.clock.timers }).toEqual({ seed, timers: 0 });
    }
  });

  it('what nobody uses is given back early enough for others not to wait for its ttl', async () => {
    const scene = new LeaseScene('async', { wait: 900 });
    const theirs = { key: 'k', owner: 'other:1#x', ttl: TTL };
    scene.driver.manner.acquire = 'manual';
    void follow(scene.acquire('k'));
    await scene.clock.advance(1000);
    scene.driver.next('acquire').apply();
    expect(scene.driver.backend.acquire(theirs)).not.toHaveProperty('firstToken');
    await scene.clock.advance(TTL / 6);
    expect(scene.driver.backend.acquire(theirs)).toHaveProperty('firstToken');
    await scene.clock.advance(TTL - 1);
    expect(scene.driver.inspect('k')).toMatchObject({ owner: 'other:1#x' });
  });
});
