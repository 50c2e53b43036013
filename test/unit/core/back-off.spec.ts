import { describe, expect, it } from 'vitest';
import { backOff, wantFor } from '../../../lib/core/back-off.js';
import type { AcquireRequest } from '../../../lib/interfaces/lock-driver.interface.js';
import { inEverySetting, Scene } from '../../support/scene.js';

const RETRY = { min: 10, max: 800, factor: 1.5, jitter: 0.2 };

describe('the pauses between tries', () => {
  it('grow by the factor up to the longest one', () => {
    const pauses = [0, 1, 2, 3, 20, 1000].map((tries) => backOff(RETRY, tries, () => 0.5));

    expect(pauses).toEqual([10, 15, 22.5, 33.75, 800, 800]);
  });

  it('are spread to either side', () => {
    expect(backOff(RETRY, 100, () => 0)).toBeCloseTo(640);
    expect(backOff(RETRY, 100, () => 0.999_999)).toBeCloseTo(960);
  });

  it('are never longer than what the try before has announced', () => {
    for (let tries = 0; tries < 30; tries++) {
      const longest = backOff(RETRY, tries, () => 0.999_999);

      expect(wantFor(RETRY, tries)).toBeGreaterThan(longest);
      expect(Number.isInteger(wantFor(RETRY, tries))).toBe(true);
    }
  });
});

/** The time between one try and the next. */
function gaps(scene: Scene): number[] {
  const tries = scene.driver.calls.filter(({ operation }) => operation === 'acquire');
  const times = tries.map(({ at }) => at);
  return times.slice(1).map((at, i) => at - times[i]!);
}

inEverySetting('a process that is denied again and again', (options) => {
  it('comes back after pauses that grow', async () => {
    const scene = new Scene({ ...options, notices: false });
    await scene.there.acquire('k');

    await scene.ask('k', { wait: Infinity });
    await scene.clock.advance(10_000);

    expect(gaps(scene).slice(0, 5)).toEqual([10, 15, 23, 34, 51]);
    expect(gaps(scene).at(-1)).toBe(800);
  });

  it('starts with short pauses again after it has had the lock', async () => {
    const scene = new Scene({ ...options, notices: false });
    const holder = await scene.there.acquire('k');
    const first = await scene.ask('k', { wait: Infinity });
    const second = await scene.ask('k', { wait: Infinity });
    await scene.clock.advance(10_000);
    await holder.release();
    await scene.clock.advance(800);
    scene.driver.manner.release = 'manual';
    await scene.clock.advance(200);
    void first.get().release();
    scene.driver.next('release').apply();
    await scene.there.acquire('k');
    scene.driver.calls = [];

    await scene.clock.advance(10_000);

    expect(second.settled).toBe(false);
    expect(gaps(scene).slice(0, 2)).toEqual([10, 15]);
  });

  it('tells the backend with each try by when the next one comes', async () => {
    const scene = new Scene({ ...options, notices: false });
    await scene.there.acquire('k');

    await scene.ask('k', { wait: Infinity });
    await scene.clock.advance(10_000);

    const announced = scene.driver.calls.map(({ request }) => (request as AcquireRequest).wantFor!);
    gaps(scene).forEach((gap, i) => expect(announced[i]).toBeGreaterThanOrEqual(gap));
    expect(Math.max(...announced)).toBeLessThanOrEqual(970);
  });
});
