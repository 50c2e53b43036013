import { describe, expect, it } from 'vitest';
import { MemoryLockDriver } from '../../../lib/drivers/memory/memory-lock.driver.js';
import { ChaosDriver } from '../../support/chaos-driver.js';
import { TestEngine } from '../../support/engine.js';
import { FakeClock } from '../../support/fake-clock.js';
import { ProcessClock } from '../../support/process-clock.js';
import { Random } from '../../support/random.js';

interface Contest {
  readonly handover: boolean;
  /** With more than one nobody can hand over to the next. */
  readonly ttls: readonly number[];
  readonly notices: boolean;
  /** The longest way to the backend, in milliseconds. */
  readonly latency: number;
}

const CONTESTS: Contest[] = [
  { handover: true, ttls: [30_000] },
  { handover: true, ttls: [30_000, 20_000] },
  { handover: false, ttls: [30_000] },
].flatMap((contest) =>
  [true, false].flatMap((notices) =>
    [0.5, 5].map((latency) => Object.assign({ notices, latency }, contest)),
  ),
);

/** Processes that contend for one key, each over a way of its own to the backend. */
class Arena {
  readonly clock = new FakeClock();
  readonly #backend = new MemoryLockDriver({ now: () => this.clock.now() });
  readonly #random = new Random(1);
  #inside = 0;

  constructor(private readonly contest: Contest) {}

  engine(): TestEngine {
    const process = new ProcessClock(this.clock);
    const { handover, notices, latency } = this.contest;
    const driver = new ChaosDriver(
      this.#backend,
      this.clock,
      process,
      this.#random,
      { sync: false, latency, faults: 0, notices, lostNotices: 0, vague: false },
      { acquiring: () => undefined, renewing: () => undefined, releasing: () => undefined },
    );
    const random = this.#random.next;
    return new TestEngine(driver, this.clock, { handover, wait: Infinity, random });
  }

  /** So many callers take the lock again and again, for 2 ms each, until the time is over. Gives the number of turns. */
  async hammer(engine: TestEngine, callers: number, until: number): Promise<number> {
    let turns = 0;
    const { ttls } = this.contest;
    const loop = async (_: unknown, caller: number): Promise<void> => {
      const ttl = ttls[caller % ttls.length];
      while (this.clock.now() < until) {
        const lock = await engine.acquire('k', { ttl });
        expect(++this.#inside).toBe(1);
        await this.clock.sleep(2);
        turns++;
        this.#inside--;
        await lock.release();
      }
    };
    await Promise.all(Array.from({ length: callers }, loop));
    return turns;
  }
}

describe.each(CONTESTS)(
  'two processes that hammer one key (hand-over: $handover, ttls: $ttls, notices: $notices, latency: $latency ms)',
  (contest) => {
    it('each get a fair part of the turns where their lines are equal', async () => {
      const arena = new Arena(contest);
      const end = arena.clock.now() + 10_000;
      const counts = Promise.all([
        arena.hammer(arena.engine(), 5, end),
        arena.hammer(arena.engine(), 5, end),
      ]);
      await arena.clock.advance(15_000);
      const [here, there] = await counts;

      expect(here / (here + there)).toBeGreaterThanOrEqual(0.35);
      expect(there / (here + there)).toBeGreaterThanOrEqual(0.35);
    });

    it('neither starve a single caller nor are starved by it', async () => {
      const arena = new Arena(contest);
      const end = arena.clock.now() + 10_000;
      const counts = Promise.all([
        arena.hammer(arena.engine(), 1, end),
        arena.hammer(arena.engine(), 20, end),
      ]);
      await arena.clock.advance(15_000);
      const [single, many] = await counts;

      // A run takes 100 ms, and a turn of the single caller comes after each.
      expect(single).toBeGreaterThanOrEqual(10);
      expect(many / (single + many)).toBeGreaterThanOrEqual(0.35);
    });

    it('share it evenly where each has a single caller', async () => {
      const arena = new Arena(contest);
      const end = arena.clock.now() + 10_000;
      const counts = Promise.all([
        arena.hammer(arena.engine(), 1, end),
        arena.hammer(arena.engine(), 1, end),
      ]);
      await arena.clock.advance(15_000);
      const [here, there] = await counts;

      expect(here / (here + there)).toBeGreaterThanOrEqual(0.35);
      expect(there / (here + there)).toBeGreaterThanOrEqual(0.35);
    });
  },
);
