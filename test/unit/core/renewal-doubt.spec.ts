import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { LockLostError } from '../../../lib/errors/lock-lost.error.js';
import type { LockUnknownEvent } from '../../../lib/interfaces/lock-event.interface.js';
import type { Manner } from '../../support/stub-driver.js';
import { follow, LeaseScene, MARGIN, TRIES, TTL } from './lease-scene.js';

const [FIRST_TRY, SECOND_TRY, THIRD_TRY, LAST_TRY] = TRIES as [number, number, number, number];
const DEADLINE = TTL - MARGIN;

const FAILURES = ['reject', 'throw', 'hang'] as const;

function types(scene: LeaseScene): string[] {
  return scene.logged.map(({ type }) => type);
}

describe.each(FAILURES)('a renewal that fails (%s)', (failure) => {
  let scene: LeaseScene;

  beforeEach(() => {
    scene = new LeaseScene('async');
  });

  it('loses nothing by itself', async () => {
    const lock = await scene.acquire('k');
    scene.driver.manner.renew = failure;
    await scene.clock.advance(DEADLINE - 1);
    expect(lock.held).toBe(true);
    expect(() => lock.assertHeld()).not.toThrow();
    expect(lock.signal.aborted).toBe(false);
  });

  it('loses nothing when ten fail, one over another, and the last before the deadline gets through', async () => {
    const lock = await scene.acquire('k');
    const { signal } = lock;
    scene.driver.manner.renew = failure;
    const extensions = Array.from({ length: 7 }, async (_, i) => {
      await scene.clock.advance(100 * i);
      await lock.extend();
    }).map(follow);
    await scene.clock.advance(LAST_TRY - 1 - scene.time);
    expect(scene.driver.count('renew')).toBe(10);
    scene.driver.manner.renew = 'async';
    await scene.clock.advance(20 * TTL);
    expect(signal.aborted).toBe(false);
    expect(lock.held).toBe(true);
    expect(extensions.every(({ state }) => state === 'rejected')).toBe(true);
  });

  it('is logged once while the doubt lasts, with what is left of the lock', async () => {
    const lock = await scene.acquire('k');
    scene.driver.manner.renew = failure;
    await scene.clock.advance(LAST_TRY + 100);
    const at = failure === 'hang' ? SECOND_TRY : FIRST_TRY;
    expect(scene.logged).toEqual([
      {
        type: 'unknown',
        key: 'k',
        owner: lock.owner,
        during: 'renew',
        cause: expect.any(Error),
        remaining: DEADLINE - at,
      } satisfies LockUnknownEvent,
    ]);
  });

  it('is logged again when the lock was confirmed in between', async () => {
    await scene.acquire('k');
    for (let i = 0; i < 3; i++) {
      scene.driver.manner.renew = failure;
      await scene.clock.advance(SECOND_TRY);
      scene.driver.manner.renew = 'async';
      await scene.clock.advance(1000);
    }
    expect(types(scene)).toEqual(['unknown', 'unknown', 'unknown']);
  });

  it('loses the lock at the deadline when none gets through', async () => {
    const lock = await scene.acquire('k');
    scene.driver.manner.renew = failure;
    await scene.clock.advance(DEADLINE);
    expect(lock.held).toBe(false);
    expect(types(scene)).toEqual(['unknown', 'lost']);
  });

  it('does not keep others of the same call from being lost each in its own time', async () => {
    const first = await scene.acquire('a');
    await scene.clock.advance(50);
    const second = await scene.acquire('b');
    scene.driver.manner.renew = failure;
    await scene.clock.advance(DEADLINE - 50);
    expect([first.held, second.held]).toEqual([false, true]);
    await scene.clock.advance(50);
    expect(second.held).toBe(false);
  });
});

describe('renewals that overlap', () => {
  let scene: LeaseScene;

  beforeEach(() => {
    scene = new LeaseScene('async');
  });

  it('count by when they were sent: a late reply to the first saves the lock', async () => {
    const lock = await scene.acquire('k');
    scene.driver.manner.renew = 'manual';
    await scene.clock.advance(DEADLINE - 1);
    scene.driver.next('renew').answer();
    await scene.clock.settle();
    expect(lock.remaining).toBe(FIRST_TRY + 1);
  });

  it('are merged by the later deadline, whatever the order of their replies', async () => {
    const lock = await scene.acquire('k');
    scene.driver.manner.renew = 'manual';
    await scene.clock.advance(LAST_TRY);
    const [first, second, third] = [1, 2, 3].map(() => scene.driver.next('renew'));
    third!.answer();
    await scene.clock.settle();
    expect(lock.remaining).toBe(DEADLINE - LAST_TRY + THIRD_TRY);
    first!.answer();
    second!.answer();
    await scene.clock.settle();
    expect(lock.remaining).toBe(DEADLINE - LAST_TRY + THIRD_TRY);
  });

  it('go on from the newest that was confirmed', async () => {
    await scene.acquire('k');
    scene.driver.manner.renew = 'manual';
    await scene.clock.advance(SECOND_TRY);
    const [first, second] = [1, 2].map(() => scene.driver.next('renew'));
    second!.answer();
    await scene.clock.settle();
    first!.answer();
    await scene.clock.advance(FIRST_TRY);
    expect(scene.times('renew')).toEqual([FIRST_TRY, SECOND_TRY, SECOND_TRY + FIRST_TRY]);
  });

  it('are not put in doubt by an older one that fails after a newer one was confirmed', async () => {
    await scene.acquire('k');
    scene.driver.manner.renew = 'manual';
    await scene.clock.advance(SECOND_TRY);
    const older = scene.driver.next('renew');
    scene.driver.next('renew').answer();
    await scene.clock.settle();
    expect(types(scene)).toEqual(['unknown']);
    older.fail();
    await scene.clock.settle();
    expect(types(scene)).toEqual(['unknown']);
  });

  it('lose the lock at the first definite no, whatever the others say', async () => {
    const lock = await scene.acquire('k');
    const { signal } = lock;
    scene.driver.manner.renew = 'manual';
    await scene.clock.advance(SECOND_TRY);
    const first = scene.driver.next('renew');
    scene.driver.next('renew').answer([{ renewed: false }]);
    await scene.clock.settle();
    expect((signal.reason as LockLostError).reason).toBe('taken');
    first.answer([{ renewed: true }]);
    await scene.clock.settle();
    expect(lock.held).toBe(false);
  });

  it('change nothing when they are answered after the lock was lost', async () => {
    const lock = await scene.acquire('k');
    scene.driver.manner.renew = 'manual';
    await scene.clock.advance(DEADLINE);
    scene.driver.next('renew').answer([{ renewed: true }]);
    scene.driver.next('renew').answer([{ renewed: false }]);
    scene.driver.next('renew').fail();
    await scene.clock.advance(TTL);
    expect(lock.held).toBe(false);
    expect(types(scene)).toEqual(['unknown', 'lost']);
  });
});

describe('a driver that breaks its contract', () => {
  const RUBBISH: readonly unknown[] = [
    undefined,
    null,
    'yes',
    7,
    true,
    {},
    [],
    [undefined],
    [null],
  ];

  describe.each(['at once', 'by a promise'])('%s', (when) => {
    it.each(RUBBISH)('and answers a renewal with %j raises doubt, no error', async (rubbish) => {
      const scene = new LeaseScene('async');
      const locks = [await scene.acquire('a'), await scene.acquire('b')];
      vi.spyOn(scene.driver, 'renew').mockImplementationOnce(
        () => (when === 'at once' ? rubbish : Promise.resolve(rubbish)) as never,
      );
      await scene.clock.advance(FIRST_TRY);
      expect(types(scene)).toEqual(['unknown', 'unknown']);
      expect(locks.every(({ held }) => held)).toBe(true);
      await scene.clock.advance(10 * TTL);
      expect(locks.every(({ held }) => held)).toBe(true);
    });

    it.each(RUBBISH)('and answers an extend with %j fails it, no more', async (rubbish) => {
      const scene = new LeaseScene('async');
      const lock = await scene.acquire('k');
      vi.spyOn(scene.driver, 'renew').mockImplementationOnce(
        () => (when === 'at once' ? rubbish : Promise.resolve(rubbish)) as never,
      );
      await expect(lock.extend()).rejects.toMatchObject({ code: 'LOCK_DRIVER', keys: ['k'] });
      await scene.clock.advance(10 * TTL);
      expect(lock.held).toBe(true);
    });

    it('and leaves out answers raises doubt about those leases alone', async () => {
      const scene = new LeaseScene('async', { observed: true });
      const locks = [await scene.acquire('a'), await scene.acquire('b')];
      const answers = [{ renewed: true }];
      vi.spyOn(scene.driver, 'renew').mockImplementationOnce(() =>
        when === 'at once' ? answers : Promise.resolve(answers),
      );
      await scene.clock.advance(FIRST_TRY);
      expect(scene.logged).toMatchObject([{ type: 'unknown', key: 'b' }]);
      expect(scene.events).toContainEqual({ type: 'renewed', key: 'a', owner: locks[0]!.owner });
      expect(locks.map(({ remaining }) => remaining)).toEqual([DEADLINE, DEADLINE - FIRST_TRY]);
    });

    it('and answers with an error raises doubt about that lease alone, with the reason', async () => {
      const scene = new LeaseScene('async', { observed: true });
      const locks = [await scene.acquire('a'), await scene.acquire('b')];
      const failure = new Error('this node is down');
      const answers = [{ renewed: true }, failure];
      vi.spyOn(scene.driver, 'renew').mockImplementation(
        () => (when === 'at once' ? answers : Promise.resolve(answers)) as never,
      );
      await scene.clock.advance(FIRST_TRY);
      expect(scene.logged).toMatchObject([{ type: 'unknown', key: 'b', cause: failure }]);
      expect(locks.map(({ remaining }) => remaining)).toEqual([DEADLINE, DEADLINE - FIRST_TRY]);
      answers.shift();
      await expect(locks[1]!.extend()).rejects.toMatchObject({ cause: failure });
      expect(locks[1]!.held).toBe(true);
    });

    it('and answers more than it was asked is believed for what it was asked', async () => {
      const scene = new LeaseScene('async');
      const lock = await scene.acquire('k');
      const answers = [{ renewed: true }, { renewed: false }];
      vi.spyOn(scene.driver, 'renew').mockImplementationOnce(() =>
        when === 'at once' ? answers : Promise.resolve(answers),
      );
      await scene.clock.advance(FIRST_TRY);
      expect(lock.remaining).toBe(DEADLINE);
    });
  });

  it.each<Manner>(['reject', 'throw'])(
    'and fails with something that is no error (%s) raises doubt',
    async (manner) => {
      const scene = new LeaseScene('async');
      const lock = await scene.acquire('k');
      vi.spyOn(scene.driver, 'renew').mockImplementationOnce(() => {
        if (manner === 'throw') {
          throw undefined;
        }
        return Promise.reject(undefined);
      });
      await scene.clock.advance(10 * TTL);
      expect(types(scene)).toEqual(['unknown']);
      expect(lock.held).toBe(true);
    },
  );
});
