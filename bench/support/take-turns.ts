import type { Contestant, Standing } from './alternate.js';
import { cpuTime } from './cpu-time.js';

const WARM_UPS = 3;
const SETS = 21;

/** Lets contestants that wait for a server take turns, the same number of operations each, and measures every turn. */
export async function takeTurns(
  contestants: readonly Contestant[],
  operations: number,
): Promise<readonly Standing[]> {
  const times = contestants.map(({ name }) => ({
    name,
    cpu: [] as number[],
    wall: [] as number[],
  }));
  for (let set = -WARM_UPS; set < SETS; set++) {
    for (const [i, contestant] of contestants.entries()) {
      const start = { cpu: cpuTime(), wall: performance.now() };
      await contestant.run(operations);
      if (set >= 0) {
        times[i]?.cpu.push(((cpuTime() - start.cpu) * 1e6) / operations);
        times[i]?.wall.push(((performance.now() - start.wall) * 1e6) / operations);
      }
    }
  }
  return times;
}
