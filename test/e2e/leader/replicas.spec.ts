import { type INestApplicationContext, Injectable, Logger } from '@nestjs/common';
import {
  currentLock,
  type DeposedChange,
  LeaderElection,
  LeaderOnly,
  type LeaderTerm,
  type LockHandle,
  type LockServiceOptions,
  LockService,
  MemoryLockDriver,
  OnDeposed,
  OnElected,
} from 'nestjs-distributed-lock';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Deferred } from '../../support/deferred.js';
import { replica, untilLeader } from './support.js';

/** What the methods of a replica wait for, by its node. */
const delays = {
  tick: new Map(),
  elected: new Map(),
  deposed: new Map(),
} as const satisfies Record<string, Map<string, Promise<void>>>;

@Injectable()
class Scheduler {
  readonly log: string[] = [];
  readonly tokens: bigint[] = [];

  @LeaderOnly('scheduler')
  async tick(job: string): Promise<string | undefined> {
    this.tokens.push(currentLock()!.fencingToken);
    await delays.tick.get(nodeOf(currentLock()!));
    return `ran ${job}`;
  }

  @OnElected('scheduler')
  async elected(term: LeaderTerm): Promise<void> {
    this.log.push(`elected ${term.nodeId} to ${term.name}`);
    this.tokens.push(term.fencingToken);
    await delays.elected.get(term.nodeId);
  }

  @OnDeposed('scheduler')
  async deposed({ nodeId, reason }: DeposedChange): Promise<void> {
    this.log.push(`deposed ${nodeId}: ${reason}`);
    await delays.deposed.get(nodeId);
  }
}

describe('replicas that elect a leader', () => {
  let driver: MemoryLockDriver;
  let apps: INestApplicationContext[];

  beforeEach(() => {
    vi.spyOn(Logger.prototype, 'log').mockImplementation(() => undefined);
    vi.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    vi.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    driver = new MemoryLockDriver();
    apps = [];
  });
  afterEach(async () => {
    await Promise.all(apps.map((app) => app.close()));
    Object.values(delays).forEach((delay) => delay.clear());
    vi.restoreAllMocks();
  });

  async function start(
    node: string,
    options: Partial<LockServiceOptions> = { drainTimeout: '5s' },
  ): Promise<[INestApplicationContext, Scheduler]> {
    const app = await replica(driver, node, [Scheduler], options);
    apps.push(app);
    return [app, app.get(Scheduler)];
  }

  it('run the leader’s methods on one of them only', async () => {
    const [one, first] = await start('one');
    await untilLeader(one, 'scheduler');
    const [, second] = await start('two');
    await expect(first.tick('report')).resolves.toBe('ran report');
    await expect(second.tick('report')).resolves.toBeUndefined();
    expect(first.log).toEqual(['elected one to scheduler']);
    expect(second.log).toEqual([]);
  });

  it('have a successor at once when the leader shuts down, with larger tokens', async () => {
    const [one, first] = await start('one');
    await untilLeader(one, 'scheduler');
    const [two, second] = await start('two');
    await first.tick('a');
    await one.close();
    await untilLeader(two, 'scheduler');
    await second.tick('b');
    expect(first.log).toEqual(['elected one to scheduler', 'deposed one: resigned']);
    expect(second.log).toEqual(['elected two to scheduler']);
    expect(Math.min(...second.tokens.map(Number))).toBeGreaterThan(
      Math.max(...first.tokens.map(Number)),
    );
    await expect(first.tick('c')).resolves.toBeUndefined();
  });

  it.each(['tick', 'elected', 'deposed'] as const)(
    'keep the seat while a leader that resigns is still at it: %s',
    async (method) => {
      const ended = new Deferred();
      delays[method].set('one', ended.promise);
      const [one, first] = await start('one');
      await untilLeader(one, 'scheduler');
      const [two] = await start('two');
      const tick = first.tick('long');
      const campaign = one.get(LeaderElection).campaign('scheduler');
      const resigned = campaign.resign();
      expect(campaign.isLeader).toBe(false);
      await expect(first.tick('late')).resolves.toBeUndefined();
      await expect(two.get(LockService).inspect('leader:scheduler')).resolves.toMatchObject({
        owner: expect.stringMatching(/^one#/),
      });
      ended.resolve();
      await resigned;
      await expect(tick).resolves.toBe('ran long');
      await untilLeader(two, 'scheduler');
    },
  );

  it('shut down although the leader’s work does not end, and leave its seat to the ttl', async () => {
    const [one, first] = await start('one', { drainTimeout: 50, ttl: '1m' });
    await untilLeader(one, 'scheduler');
    delays.tick.set('one', new Promise(() => undefined));
    void first.tick('endless').catch(() => undefined);
    await one.close();
    expect(driver.inspect('leader:scheduler')?.owner).toMatch(/^one#/);
    expect(driver.inspect('leader:scheduler')!.remaining).toBeGreaterThan(30_000);
  });
});

function nodeOf({ owner }: LockHandle): string {
  return owner.split('#')[0] as string;
}
