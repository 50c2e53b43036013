import { afterAll, describe, expect, it } from 'vitest';
import { LockEngine } from '../../../lib/core/lock-engine.js';
import { LockEvents } from '../../../lib/core/lock-events.js';
import { MemoryLockDriver } from '../../../lib/drivers/memory/memory-lock.driver.js';
import { DEFAULTS } from '../../support/engine.js';

const DURATION = 3000;

const engines: LockEngine[] = [];

function engineOn(driver: MemoryLockDriver): LockEngine {
  const engine = new LockEngine({
    driver,
    node: `n${engines.length}`,
    events: new LockEvents(),
    clockSkew: 0,
    handoverMaxTime: 100,
    parseTtl: Number,
  });
  engines.push(engine);
  return engine;
}

/** So many callers take the lock as often as they can; gives the number of turns. */
async function hammer(engine: LockEngine, callers: number, handover: boolean): Promise<number> {
  const end = performance.now() + DURATION;
  const settings = { ...DEFAULTS, handover, wait: Infinity };
  let turns = 0;
  const loop = async (): Promise<void> => {
    while (performance.now() < end) {
      const lock = await engine.acquire('k', settings);
      turns++;
      await lock.release();
    }
  };
  await Promise.all(Array.from({ length: callers }, loop));
  return turns;
}

describe.each([true, false])(
  'two engines on one driver, in real time (hand-over: %s)',
  (handover) => {
    afterAll(async () => {
      await Promise.all(engines.map((engine) => engine.stop()));
    });

    it(
      'each get a fair part of the turns where their lines are equal',
      { timeout: 30_000 },
      async () => {
        const driver = new MemoryLockDriver();

        const [here, there] = await Promise.all([
          hammer(engineOn(driver), 10, handover),
          hammer(engineOn(driver), 10, handover),
        ]);

        expect(here / (here + there)).toBeGreaterThanOrEqual(0.35);
        expect(there / (here + there)).toBeGreaterThanOrEqual(0.35);
      },
    );

    it('neither starve a single caller nor are starved by it', { timeout: 30_000 }, async () => {
      const driver = new MemoryLockDriver();

      const [single, many] = await Promise.all([
        hammer(engineOn(driver), 1, handover),
        hammer(engineOn(driver), 10, handover),
      ]);

      expect(single).toBeGreaterThanOrEqual(8);
      expect(many / (single + many)).toBeGreaterThanOrEqual(0.35);
    });
  },
);
