import { type INestApplicationContext, Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FencingGate, MemoryLockDriver } from 'nestjs-distributed-lock';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Chronicle } from '../../../sample/02-scheduler-leader/chronicle.js';
import { Observer } from '../../../sample/02-scheduler-leader/observer.js';
import { parseOptions } from '../../../sample/02-scheduler-leader/options.js';
import { ReplicaModule } from '../../../sample/02-scheduler-leader/replica.module.js';
import { type RecordedTick, SLOT, type Tick } from '../../../sample/02-scheduler-leader/tick.js';
import type {
  Admit,
  TicksRepository,
} from '../../../sample/02-scheduler-leader/ticks.repository.js';
import { Deferred } from '../../support/deferred.js';

/** Longer than a slot, on a busy machine. */
const PATIENCE = { timeout: 10_000, interval: 20 };

/** Ticks in memory, which may take their time to tell what was run. */
class MemoryTicks implements TicksRepository {
  readonly saved: Tick[] = [];
  /** What a replica that takes over waits for. */
  delay: Promise<void> = Promise.resolve();

  async lastSlot(): Promise<number> {
    await this.delay;
    return Math.max(0, ...this.saved.map(({ slot }) => slot));
  }

  async save(tick: Tick, admit: Admit): Promise<void> {
    await admit();
    this.saved.push(tick);
  }

  async findAll(): Promise<readonly RecordedTick[]> {
    return this.saved.map((tick) => ({ ...tick, runs: 1 }));
  }

  async prepare(): Promise<void> {}
  async remove(): Promise<void> {}
}

describe('the scheduler with a leader', () => {
  let ticks: MemoryTicks;
  let apps: Map<string, INestApplicationContext>;

  beforeEach(async () => {
    vi.spyOn(Logger.prototype, 'log').mockImplementation(() => undefined);
    ticks = new MemoryTicks();
    apps = new Map();
  });
  afterEach(async () => {
    await Promise.all([...apps.values()].map((app) => app.close()));
    vi.restoreAllMocks();
  });

  async function startThree(): Promise<void> {
    const driver = new MemoryLockDriver();
    for (const node of ['one', 'two', 'three']) {
      const root = ReplicaModule.forRoot(node, { driver, ticks });
      apps.set(node, await NestFactory.createApplicationContext(root, { logger: false }));
    }
  }

  const untilTicks = (count: number): Promise<void> =>
    vi.waitFor(() => expect(ticks.saved.length).toBeGreaterThanOrEqual(count), PATIENCE);

  const nodes = (from: number): ReadonlySet<string> =>
    new Set(ticks.saved.slice(from).map(({ node }) => node));

  it('runs a slot once, on one replica of three', async () => {
    await startThree();
    await untilTicks(3);
    expect(nodes(0).size).toBe(1);
    const slots = ticks.saved.map(({ slot }) => slot);
    expect(slots).toEqual([...new Set(slots)].toSorted((a, b) => a - b));
  });

  it('goes on with the next slot, and with larger tokens, when the leader shuts down', async () => {
    await startThree();
    await untilTicks(1);
    const [first] = nodes(0);
    await apps.get(first as string)?.close();
    const before = ticks.saved.length;
    await untilTicks(before + 2);
    expect(nodes(before).size).toBe(1);
    expect(nodes(before)).not.toContain(first);
    const [last, next] = ticks.saved.slice(before - 1) as [Tick, Tick];
    expect(next.slot).toBeGreaterThan(last.slot);
    expect(next.fencingToken).toBeGreaterThan(last.fencingToken);
  });

  it('writes nothing once the gate has seen a newer leader', async () => {
    const error = vi.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    await startThree();
    await untilTicks(1);
    const gate = apps.get('one')?.get(FencingGate) as FencingGate;
    await gate.admit('scheduler', BigInt(Date.now() + 30_000) * 1000n);
    const before = ticks.saved.length;
    const refused = expect.objectContaining({ code: 'STALE_FENCING_TOKEN' });
    await vi.waitFor(() => expect(error).toHaveBeenCalledWith(refused), PATIENCE);
    expect(ticks.saved).toHaveLength(before);
  });

  it('runs nothing before it knows what others have run, and then only what comes after that', async () => {
    const known = new Deferred();
    const asked = vi.spyOn(ticks, 'lastSlot');
    ticks.delay = known.promise;
    await startThree();
    await vi.waitFor(() => expect(asked).toHaveBeenCalled(), PATIENCE);
    // A tick that was let through would have come.
    await new Promise((resolve) => setTimeout(resolve, 2 * SLOT));
    expect(ticks.saved).toEqual([]);
    const ahead = Math.floor(Date.now() / SLOT) + 2;
    ticks.saved.push({ slot: ahead, node: 'zero', fencingToken: 1n });
    known.resolve();
    await untilTicks(2);
    expect(ticks.saved[1]?.slot).toBeGreaterThan(ahead);
  });
});

describe('what the sample makes of it', () => {
  it('finds nothing wrong where each slot ran once and tokens rise', () => {
    const ticks = [recorded(1, 10n), recorded(2, 15n), recorded(4, 20n)];
    expect(chronicleOf(10n, 20n).faults(ticks)).toEqual([]);
    expect(chronicleOf(10n, 20n).summarize(ticks)).toEqual([
      { node: 'one', firstToken: 10n, lastToken: 15n, ticks: 2 },
      { node: 'one', firstToken: 20n, lastToken: 20n, ticks: 1 },
    ]);
  });

  it.each([
    ['a slot ran twice', [10n], [recorded(1, 10n, 2)]],
    ['a term’s token was not larger than the one before', [20n, 20n], [recorded(1, 20n)]],
    ['a slot was run with a token of no term', [10n], [recorded(1, 9n)]],
  ])('finds that %s', (fault, firstTokens, ticks) => {
    expect(chronicleOf(...firstTokens).faults(ticks)).toContain(fault);
  });

  it('has seen too little where it is to wait for three terms', () => {
    const ending = new AbortController();
    const faultsOf = (once: boolean): readonly string[] =>
      new Observer({ kill: false, once }, ending).faults([]);
    expect(faultsOf(true)).toEqual(['there was too little to see']);
    expect(faultsOf(false)).toEqual([]);
  });

  it('takes no driver that it does not know', () => {
    expect(parseOptions(['--kill'])).toEqual({
      driver: 'postgres',
      url: undefined,
      kill: true,
      once: false,
    });
    expect(() => parseOptions(['--driver', 'mongo'])).toThrow(/postgres, redis, and not mongo/);
  });
});

function recorded(slot: number, fencingToken: bigint, runs = 1): RecordedTick {
  return { slot, node: 'one', fencingToken, runs };
}

function chronicleOf(...firstTokens: readonly bigint[]): Chronicle {
  const chronicle = new Chronicle();
  firstTokens.forEach((token) => chronicle.elected('one', token));
  return chronicle;
}
