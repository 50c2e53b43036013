import type { LockDriver, Unsubscribe } from '../../interfaces/lock-driver.interface.js';
import type { TestApi } from '../test-api.js';
import { LONG } from './contender.js';
import type { DriverFixture } from './driver-fixture.js';
import { delay } from './wait.js';

/** How long a notice is waited for until it counts as lost, which it may be. */
const LOST_AFTER = 500;

/** Counts the notices of a key; a driver that gives none is never asked for its count. */
class Listener {
  count = 0;
  readonly leave: Unsubscribe;

  constructor(driver: LockDriver, key: string) {
    this.leave = driver.onReleased?.(key, () => this.count++) ?? (() => undefined);
  }
}

/** Notices of releases, where the driver has them: they are hints, so each is given more than one chance. */
export function describeNotices({ it, expect }: TestApi, fixture: DriverFixture): void {
  const releaseWhileWanted = async (key: string): Promise<void> => {
    const { alice, bob } = fixture.contenders(key);
    await alice.granted();
    await bob.denied({ wantFor: LONG });
    await alice.release();
  };

  const releaseUntilHeard = async (
    key: string,
    ...listeners: readonly Listener[]
  ): Promise<void> => {
    const before = listeners.map((listener) => listener.count);
    const areTold = (): boolean =>
      listeners.every((listener, index) => listener.count > (before[index] ?? 0));
    await fixture.poll('a notice of release', async () => {
      await releaseWhileWanted(key);
      const lostAt = performance.now() + LOST_AFTER;
      while (!areTold() && performance.now() < lostAt) {
        await delay(5);
      }
      return areTold();
    });
  };

  it('gives notice of a release that somebody waits for', async () => {
    if (fixture.second.onReleased) {
      const key = fixture.newKey();
      const listener = new Listener(fixture.second, key);
      // The first may only say that the subscription is live.
      for (let round = 0; round < 4; round++) {
        await releaseUntilHeard(key, listener);
      }
      listener.leave();
    }
  });

  it('gives notice to every listener, and to none that has left', async () => {
    if (fixture.driver.onReleased) {
      const key = fixture.newKey();
      const leaver = new Listener(fixture.driver, key);
      const stayer = new Listener(fixture.driver, key);
      await releaseUntilHeard(key, leaver, stayer);
      leaver.leave();
      leaver.leave();
      const heard = leaver.count;
      await releaseUntilHeard(key, stayer);
      expect(leaver.count).toBe(heard);
      stayer.leave();
    }
  });

  it('gives notice to a listener that comes after another has left', async () => {
    if (fixture.driver.onReleased) {
      const key = fixture.newKey();
      new Listener(fixture.driver, key).leave();
      const listener = new Listener(fixture.driver, key);
      await releaseUntilHeard(key, listener);
      listener.leave();
    }
  });
}
