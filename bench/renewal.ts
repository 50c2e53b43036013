import { setTimeout as sleep } from 'node:timers/promises';
import {
  type LockHandle,
  LockService,
  lockKey,
  MemoryLockDriver,
  type RenewRequest,
  type RenewResult,
} from 'nestjs-distributed-lock';
import type { Bench, Finding } from './support/bench.js';
import { cpuTime } from './support/cpu-time.js';
import { type Spread, spreadOf } from './support/spread.js';
import { TimerWatch } from './support/timer-watch.js';

/** The more leases, the longer the ttl: there has to be idle time between two renewals. */
const SIZES = [
  { leases: 1_000, ttl: 600 },
  { leases: 10_000, ttl: 1_500 },
  { leases: 100_000, ttl: 6_000 },
] as const;

const WARM_UP = { leases: 20_000, ttl: 1_500 };
const ROUNDS = 9;

interface Measured {
  readonly leases: number;
  /** Nanoseconds of CPU that one renewal of one lease takes. */
  readonly cost: Spread;
  /** Nanoseconds of CPU to look up and write one entry of a map of as many. */
  readonly control: Spread;
  /** Calls of the driver by which all leases are renewed once. */
  readonly calls: number;
  readonly timers: number;
  readonly refedTimers: number;
}

/**
 * The memory driver answers at once, so what is measured is what engine and driver do about a renewal. The control
 * shows what the machine's memory alone makes of the larger numbers.
 */
export const renewal: Bench = {
  name: 'renewal',
  about: 'renewing 1,000, 10,000 and 100,000 leases that are held at once',
  run: async () => {
    const watch = new TimerWatch();
    await measure(watch, WARM_UP.leases, WARM_UP.ttl);
    const sizes: Measured[] = [];
    for (const { leases, ttl } of SIZES) {
      sizes.push(await measure(watch, leases, ttl));
    }
    return sizes.flatMap((size) => describe(size, sizes[0] as Measured));
  },
};

class CountingDriver extends MemoryLockDriver {
  calls = 0;
  renewed = 0;

  override renew(leases: readonly RenewRequest[]): readonly RenewResult[] {
    this.calls++;
    this.renewed += leases.length;
    return super.renew(leases);
  }
}

async function measure(watch: TimerWatch, leases: number, ttl: number): Promise<Measured> {
  const driver = new CountingDriver();
  const locks = new LockService({ driver, ttl, drainTimeout: 0 });
  const handles = await hold(locks, leases);
  const walk = mapWalk(leases);
  const costs: number[] = [];
  const controls: number[] = [];
  while (costs.length < ROUNDS) {
    const before = { busy: watch.busy, renewed: driver.renewed };
    await sleep(ttl / 3);
    const renewed = driver.renewed - before.renewed;
    if (renewed >= leases / 2) {
      costs.push(((watch.busy - before.busy) * 1e6) / renewed);
      controls.push(walk());
    }
  }
  const timers = watch.pending;
  const refedTimers = process.getActiveResourcesInfo().filter((type) => type === 'Timeout').length;
  const calls = (driver.calls * leases) / driver.renewed;
  await letGo(locks, handles);
  return {
    leases,
    cost: spreadOf(costs),
    control: spreadOf(controls),
    calls,
    timers,
    refedTimers,
  };
}

async function hold(locks: LockService, leases: number): Promise<LockHandle[]> {
  const handles: LockHandle[] = [];
  for (let i = 0; i < leases; i++) {
    handles.push(await locks.acquire(lockKey`renewal:${i}`));
  }
  return handles;
}

async function letGo(locks: LockService, handles: readonly LockHandle[]): Promise<void> {
  if (handles.some((handle) => !handle.held)) {
    throw new Error(`Some of ${handles.length} leases were lost: the machine is too busy`);
  }
  await Promise.all(handles.map((handle) => handle.release()));
  await locks[Symbol.asyncDispose]();
}

function mapWalk(size: number): () => number {
  const keys = Array.from({ length: size }, (_, i) => `renewal:${i}`);
  const entries = new Map(keys.map((key) => [key, { key, expires: 0 }]));
  return () => {
    const start = cpuTime();
    for (const key of keys) {
      (entries.get(key) as { expires: number }).expires = start;
    }
    return ((cpuTime() - start) * 1e6) / size;
  };
}

function describe(size: Measured, smallest: Measured): Finding[] {
  const { leases, cost, control, calls, timers, refedTimers } = size;
  const held = `${leases.toLocaleString('en')} leases`;
  const findings: Finding[] = [
    { what: `${held}: one renewal`, ...cost, unit: 'ns' },
    { what: `  control: one write to a map of as many`, ...control, unit: 'ns' },
    { what: `${held}: calls per round`, median: Math.round(calls), unit: '' },
    {
      what: `${held}: timers`,
      median: timers,
      unit: '',
      target: { bound: 'exactly', value: 1 },
      note: `${refedTimers} of them keep the process alive`,
    },
  ];
  if (leases > smallest.leases) {
    findings.push(
      {
        what: `${held}: cost of that of ${smallest.leases.toLocaleString('en')}`,
        median: cost.median / smallest.cost.median,
        unit: 'x',
        target: { bound: 'below', value: Math.log(leases) / Math.log(smallest.leases) },
        note: 'growth of log n',
      },
      {
        what: `  control: the same of the map`,
        median: control.median / smallest.control.median,
        unit: 'x',
      },
    );
  }
  return findings;
}
