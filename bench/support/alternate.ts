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
const LEAST = 100;
const BLOCKS_PER_SET = 12;
const SETS = 30;

/** What a block has to have where many operations are under way at a time. */
export interface BlockSize {
  /** So many operations at least: else most of it would be its beginning and its end. */
  readonly atLeast: number;
}

/**
 * Lets the contestants take turns in short blocks, so that whatever else the machine does hits all of them alike. One
 * number is taken per set of blocks. The first contestant decides how long a block is.
 */
export async function alternate(
  contestants: readonly Contestant[],
  { atLeast }: BlockSize = { atLeast: LEAST },
): Promise<readonly Standing[]> {
  const operations = Math.max(atLeast, await warmUp(contestants));
  const blocks = Math.max(1, Math.round((BLOCKS_PER_SET * LEAST) / Math.max(LEAST, atLeast)));
  const sets: (readonly Time[])[] = [];
  for (let set = 0; set < SETS; set++) {
    sets.push(await runSet(contestants, operations, blocks));
  }
  const perOperation = (ms: number): number => (ms * 1e6) / (blocks * operations);
  return contestants.map(({ name }, i) => ({
    name,
    cpu: sets.map((times) => perOperation((times[i] as Time).cpu)),
    wall: sets.map((times) => perOperation((times[i] as Time).wall)),
  }));
}

/** Gives the number of operations that the first contestant does in one block. */
async function warmUp(contestants: readonly Contestant[]): Promise<number> {
  let operations = LEAST;
  const until = performance.now() + WARM_UP_MS * contestants.length;
  while (performance.now() < until) {
    for (const [i, contestant] of contestants.entries()) {
      const { cpu } = await timeOf(contestant, operations);
      if (i === 0) {
        operations = Math.max(LEAST, Math.round((operations * BLOCK_MS) / cpu / 100) * 100);
      }
    }
  }
  return operations;
}

async function runSet(
  contestants: readonly Contestant[],
  operations: number,
  blocks: number,
): Promise<Time[]> {
  const times = contestants.map(() => ({ cpu: 0, wall: 0 }));
  for (let block = 0; block < blocks; block++) {
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
