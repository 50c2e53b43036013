import { cpuTime } from './cpu-time.js';

/** One of those that are compared; `run` does so many operations one way or another. */
export interface Contestant {
  readonly name: string;
  run(operations: number): Promise<unknown>;
}

/** What one operation took a contestant, in nanoseconds, in each set of blocks. */
export interface Standing {
  readonly name: string;
  readonly cpu: readonly number[];
  readonly wall: readonly number[];
}

interface Time {
  cpu: number;
  wall: number;
}

const WARM_UP_MS = 500;
const BLOCK_MS = 5;
const BLOCKS_PER_SET = 12;
const SETS = 30;

/**
 * Lets the contestants take turns in short blocks, so that whatever else the machine does hits all of them alike. One
 * number is taken per set of blocks. The first contestant decides how long a block is.
 */
export async function alternate(contestants: readonly Contestant[]): Promise<readonly Standing[]> {
  const operations = await warmUp(contestants);
  const sets: (readonly Time[])[] = [];
  for (let set = 0; set < SETS; set++) {
    sets.push(await runSet(contestants, operations));
  }
  const perOperation = (ms: number): number => (ms * 1e6) / (BLOCKS_PER_SET * operations);
  return contestants.map(({ name }, i) => ({
    name,
    cpu: sets.map((times) => perOperation((times[i] as Time).cpu)),
    wall: sets.map((times) => perOperation((times[i] as Time).wall)),
  }));
}

/** Gives the number of operations that the first contestant does in one block. */
async function warmUp(contestants: readonly Contestant[]): Promise<number> {
  let operations = 100;
  const until = performance.now() + WARM_UP_MS * contestants.length;
  while (performance.now() < until) {
    for (const [i, contestant] of contestants.entries()) {
      const { cpu } = await timeOf(contestant, operations);
      if (i === 0) {
        operations = Math.max(100, Math.round((operations * BLOCK_MS) / cpu / 100) * 100);
      }
    }
  }
  return operations;
}

async function runSet(contestants: readonly Contestant[], operations: number): Promise<Time[]> {
  const times = contestants.map(() => ({ cpu: 0, wall: 0 }));
  for (let block = 0; block < BLOCKS_PER_SET; block++) {
    // Each pays now and then for the garbage that the one before it left: nobody may always follow the same one.
    for (const i of shuffle([...contestants.keys()])) {
      const { cpu, wall } = await timeOf(contestants[i] as Contestant, operations);
      const sum = times[i] as Time;
      sum.cpu += cpu;
      sum.wall += wall;
    }
  }
  return times;
}

async function timeOf(contestant: Contestant, operations: number): Promise<Time> {
  const start = { cpu: cpuTime(), wall: performance.now() };
  await contestant.run(operations);
  return { cpu: cpuTime() - start.cpu, wall: performance.now() - start.wall };
}

function shuffle(items: number[]): number[] {
  for (let last = items.length - 1; last > 0; last--) {
    const other = Math.floor(Math.random() * (last + 1));
    [items[last], items[other]] = [items[other] as number, items[last] as number];
  }
  return items;
}
