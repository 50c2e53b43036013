import type { Mutex } from 'async-mutex';
import { LockService, MemoryLockDriver } from 'nestjs-distributed-lock';
import { alternate, type Contestant, type Standing } from './alternate.js';
import { BUILDS } from './async-mutex.js';
import type { Finding } from './bench.js';
import { spreadOf } from './spread.js';

/** One case of a comparison with async-mutex. */
export interface Comparison {
  readonly what: string;
  readonly atLeast: number;
  readonly ours: (locks: LockService) => Contestant['run'];
  readonly theirs: (mutex: Mutex) => Contestant['run'];
}

/** Compares a service with default options on the memory driver with async-mutex. */
export async function compare({ what, atLeast, ours, theirs }: Comparison): Promise<Finding[]> {
  const [reference, again, commonJs] = BUILDS.map(({ name, Mutex: Build }) => ({
    name,
    run: theirs(new Build()),
  })) as [Contestant, Contestant, Contestant];
  const locks = new LockService(new MemoryLockDriver());
  const lockService = { name: 'LockService', run: ours(locks) };
  const [mutex, lock, control, other] = (await alternate([
    reference,
    lockService,
    again,
    commonJs,
  ])) as [Standing, Standing, Standing, Standing];
  return [
    { ...ratio(what, lock, mutex), target: { bound: 'at least', value: atLeast } },
    ratio('  control: async-mutex again', control, mutex),
    ratio('  by the wall clock', lock, mutex, 'wall'),
    ratio('  of the CommonJS build of async-mutex', lock, other),
  ];
}

/**
 * How many operations the one does in the time in which the other does one: in CPU time, which depends least on what
 * else the machine does. The wall clock would show it if one of them waited where it need not.
 */
export function ratio(
  what: string,
  one: Standing,
  other: Standing,
  by: 'cpu' | 'wall' = 'cpu',
): Finding {
  const spread = spreadOf(one[by].map((cost, set) => (other[by][set] as number) / cost));
  const costs = [one, other].map((standing) => `${spreadOf(standing[by]).median.toFixed(0)} ns`);
  return { what, ...spread, unit: 'x', note: costs.join(' to ') };
}
