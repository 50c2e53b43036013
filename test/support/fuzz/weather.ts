import type { AcquireSettings } from '../../../lib/core/acquire-settings.js';
import type { ChaosOptions } from '../chaos-driver.js';
import { DEFAULTS } from '../engine.js';
import type { Random } from '../random.js';

export const LONGEST_TTL = 1000;

/** What the whole of a run has in common. */
export interface Weather {
  /** Nothing goes wrong: then no lock is lost, the backend is blamed for nothing, and nobody waits longer than it wants to. */
  readonly calm: boolean;
  /** Locks are freed by force: then nothing can be said of who holds what. */
  readonly lawless: boolean;
  readonly ttls: readonly number[];
  readonly handover: 'on' | 'off' | 'mixed';
  readonly maxTime: number;
  readonly minHold: number;
  /** The part of the locks that are not renewed. */
  readonly unrenewed: number;
}

export function drawWeather(random: Random): Weather {
  const calm = random.chance(0.3);
  return {
    calm,
    lawless: !calm && random.chance(0.1),
    ttls: random.pick(calm ? [[500], [500, LONGEST_TTL]] : [[60], [200], [60, 200, LONGEST_TTL]]),
    handover: random.pick(['on', 'on', 'off', 'mixed'] as const),
    maxTime: random.pick([5, 20, 100]),
    minHold: random.pick([0, 0, 40]),
    unrenewed: calm ? 0 : random.pick([0, 0.3]),
  };
}

/** How the way to the backend is, for one process. */
export function drawChaos(random: Random, { calm }: Weather): ChaosOptions {
  const sync = random.chance(0.2);
  return {
    sync,
    latency: random.pick(calm ? [0.5, 5] : [1, 5, 20]),
    faults: calm ? 0 : random.pick([0, 0.05, 0.2]),
    notices: sync || random.chance(0.7),
    lostNotices: random.pick([0, 0.3]),
    vague: random.chance(0.2),
  };
}

/** What one caller asks for. */
export function drawSettings(
  random: Random,
  { calm, ttls, unrenewed, minHold, handover }: Weather,
): AcquireSettings {
  return {
    ...DEFAULTS,
    ttl: random.pick(ttls),
    // In calm weather longer than any answer takes: then the backend is not to blame for a time-out.
    wait: random.pick([0, calm ? 50 : 10, 100, 1000, Infinity]),
    autoExtend: !random.chance(unrenewed),
    retry: { min: 5, max: 50, factor: 1.5, jitter: 0.2 },
    reentrant: random.chance(0.9),
    minHold: random.pick([0, minHold]),
    maxHold: random.chance(0.1) ? 30 : Infinity,
    maxWaiters: random.chance(0.1) ? 2 : Infinity,
    handover: handover === 'mixed' ? random.chance(0.5) : handover === 'on',
  };
}
