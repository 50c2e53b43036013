import { AsyncLocalStorage } from 'node:async_hooks';
import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MemoryLockDriver } from '../../../lib/drivers/memory/memory-lock.driver.js';
import { LockClosedError } from '../../../lib/errors/lock-closed.error.js';
import { LockConfigError } from '../../../lib/errors/lock-config.error.js';
import { LockLostError } from '../../../lib/errors/lock-lost.error.js';
import type {
  CampaignOptions,
  LeadershipChange,
} from '../../../lib/interfaces/leader-election.interface.js';
import { LeaderElection } from '../../../lib/leader/leader-election.js';
import { LockService } from '../../../lib/lock.service.js';
import { watch } from '../../support/outcome.js';
import { pass, passUntil, useVirtualTimers } from '../../support/virtual-timers.js';
import { Candidate } from './candidates.js';

const OPTIONS: CampaignOptions = { ttl: '6s', heartbeat: '1s', tokenPeriod: '2s' };

let backend: MemoryLockDriver;
let candidates: Candidate[];
let endVirtualTimers: () => void;

beforeEach(() => {
  endVirtualTimers = useVirtualTimers();
  for (const level of ['log', 'warn', 'error'] as const) {
    vi.spyOn(Logger.prototype, level).mockImplementation(() => undefined);
  }
  backend = new MemoryLockDriver();
  candidates = [];
});

afterEach(async () => {
  await passUntil(Promise.all(candidates.map((each) => each.end())));
  endVirtualTimers();
  vi.restoreAllMocks();
});

function candidate(node: string, options = OPTIONS): Candidate {
  const made = new Candidate(backend, node, options);
  candidates.push(made);
  return made;
}

describe('a process that stands for election', () => {
  it('leads where nobody else does', async () => {
    const leadership = candidate('one').election.campaign('jobs');
    await pass(0);
    expect(leadership).toMatchObject({ name: 'jobs', nodeId: 'one', isLeader: true });
    expect(leadership.fencingToken).toBeGreaterThan(0n);
    expect(leadership.signal.aborted).toBe(false);
  });

  it('does not where another does, and says so', async () => {
    candidate('one').election.campaign('jobs');
    const second = candidate('two').election.campaign('jobs');
    await pass(60_000);
    expect(second.isLeader).toBe(false);
    expect(() => second.fencingToken).toThrow(LockLostError);
    expect(() => second.fencingToken).toThrow('this process is not the leader');
    expect(second.signal.aborted).toBe(true);
    expect(second.signal.reason).toMatchObject({ reason: 'notElected' });
  });

  it('leads in one thing and not in another', async () => {
    const [one, two] = [candidate('one'), candidate('two')];
    one.election.campaign('jobs');
    two.election.campaign('mails');
    await pass(0);
    expect(one.election.campaign('mails').isLeader).toBe(false);
    expect(two.election.campaign('mails').isLeader).toBe(true);
  });

  it('stands apart in each namespace where that is asked for at each call', async () => {
    let tenant = 'a';
    const driver = new MemoryLockDriver();
    await using locks = new LockService({ driver, namespace: () => tenant });
    await using election = LeaderElection.of(locks);
    driver.acquire({ key: 'b:leader:jobs', owner: 'another process', ttl: 60_000 });
    const ofFirst = election.campaign('jobs');
    tenant = 'b';
    const ofSecond = election.campaign('jobs');
    await pass(0);
    expect([ofFirst.isLeader, ofSecond.isLeader]).toEqual([true, false]);
  });

  it('is no part of the request in which it was called for', async () => {
    const requests = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const { election } = candidate('one');
    election.listen('jobs', { elected: () => void seen.push(requests.getStore()) });
    requests.run('a request', () => election.campaign('jobs'));
    await pass(0);
    expect(seen).toEqual([undefined]);
  });

  it('stands once, however often it is told to', async () => {
    const { election } = candidate('one');
    const campaign = election.campaign('jobs');
    expect(election.campaign('jobs')).toBe(campaign);
    expect(election.campaign('jobs', { ttl: 6000, reclaim: false })).toBe(campaign);
    expect(election.campaign('jobs', { nodeId: 'second' })).not.toBe(campaign);
  });

  it('is told that options differ from those it stands with', () => {
    const { election } = candidate('one');
    election.campaign('jobs');
    const again = (): unknown => election.campaign('jobs', { ttl: '7s', heartbeat: '1s' });
    expect(again).toThrow(LockConfigError);
    expect(again).toThrow(/stands for jobs already, with another ttl: /);
  });

  it('stands anew when it is told to after it has resigned', async () => {
    const { election } = candidate('one');
    const before = election.campaign('jobs');
    await pass(0);
    const token = before.fencingToken;
    await passUntil(before.resign());
    const after = election.campaign('jobs', { ttl: '7s' });
    await pass(0);
    expect(after).not.toBe(before);
    expect([before.isLeader, after.isLeader]).toEqual([false, true]);
    expect(after.fencingToken).toBeGreaterThan(token);
  });

  it('does not stand any more when the application shuts down', async () => {
    const { election } = candidate('one');
    const campaign = election.campaign('jobs');
    await passUntil(election.beforeApplicationShutdown());
    expect(backend.inspect('leader:jobs')).toBeNull();
    expect(election.campaign.bind(election, 'mails')).toThrow(LockClosedError);
    expect(election.campaign('jobs')).toBe(campaign);
    expect(campaign.isLeader).toBe(false);
  });

  it('gives what runs under its term all of a long time when the application shuts down', async () => {
    const driver = new MemoryLockDriver();
    await using locks = new LockService({ driver, drainTimeout: '30d' });
    const election = LeaderElection.of(locks);
    const campaign = election.stand('jobs');
    await pass(0);
    const leave = campaign.term!.enter();
    const closed = watch(election.beforeApplicationShutdown());
    await pass(60_000);
    expect(closed.settled).toBe(false);
    leave();
    await pass(0);
    expect(closed.settled).toBe(true);
  });

  it.each(['', ' ', 'a\nb', 5])('needs a name: %j', (name) => {
    const { election } = candidate('one');
    expect(() => election.campaign(name as string)).toThrow(LockConfigError);
  });

  it('locks a key that cannot be mistaken, whatever the name', async () => {
    candidate('one').election.campaign('a:b/c d');
    await pass(0);
    expect(backend.inspect('leader:a%3Ab%2Fc%20d')).not.toBeNull();
  });
});

describe('a term', () => {
  it('goes on by a heartbeat, and gets a larger token by one of them each token period', async () => {
    const one = candidate('one');
    const leadership = one.election.campaign('jobs');
    await pass(0);
    const tokens = new Set([leadership.fencingToken]);
    const from = performance.now();
    for (let i = 0; i < 120; i++) {
      await pass(100);
      tokens.add(leadership.fencingToken);
    }
    const { renewals } = one.connection;
    const gaps = renewals.map(({ at }, i) => at - (renewals[i - 1]?.at ?? from));
    expect(renewals.length).toBeGreaterThanOrEqual(11);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(1001);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(900);
    expect(renewals.filter(({ bumps }) => bumps)).toHaveLength(Math.floor(renewals.length / 2));
    expect([...tokens]).toEqual([...tokens].toSorted((a, b) => Number(a - b)));
    expect(tokens.size).toBe(Math.floor(renewals.length / 2) + 1);
  });

  it('survives a heartbeat that is missed', async () => {
    const one = candidate('one');
    const leadership = one.election.campaign('jobs');
    await pass(500);
    one.connection.isCut = true;
    await pass(3000);
    one.connection.isCut = false;
    await pass(20_000);
    expect(leadership.isLeader).toBe(true);
    expect(leadership.signal.aborted).toBe(false);
  });

  it('ends by the leader’s own clock, before anybody else can be elected', async () => {
    const [one, two] = [candidate('one'), candidate('two')];
    const first = one.election.campaign('jobs');
    await pass(0);
    const token = first.fencingToken;
    const second = two.election.campaign('jobs');
    const { signal } = first;
    one.connection.isCut = true;
    const endedAt = new Promise<number>((resolve) =>
      signal.addEventListener('abort', () => resolve(performance.now())),
    );
    let electedAt: number | undefined;
    second.changes$.subscribe(() => (electedAt ??= performance.now()));
    await pass(7000);
    expect(first.isLeader).toBe(false);
    expect(signal.reason).toMatchObject({ reason: 'expired' });
    expect(second.isLeader).toBe(true);
    expect(await endedAt).toBeLessThan(electedAt!);
    expect(second.fencingToken).toBeGreaterThan(token);
  });

  it('ends when the operator frees the lock, and the process stands again', async () => {
    const one = candidate('one');
    const leadership = one.election.campaign('jobs');
    await pass(0);
    const { signal, fencingToken } = leadership;
    await passUntil(one.locks.forceRelease('leader:jobs'));
    expect(signal.reason).toMatchObject({ reason: 'forced' });
    await pass(1000);
    expect(leadership.isLeader).toBe(true);
    expect(leadership.fencingToken).toBeGreaterThan(fencingToken);
  });

  it('ends when what runs under it gives the lock back, and the process stands again', async () => {
    const { election } = candidate('one');
    const campaign = election.stand('jobs');
    await pass(0);
    const { signal } = campaign;
    await passUntil(campaign.term!.run(() => campaign.term!.handle.release()));
    expect(signal.reason).toMatchObject({ reason: 'released' });
    await pass(1000);
    expect(campaign.isLeader).toBe(true);
  });
});

describe('to resign', () => {
  it('gives the seat to the next without waiting for a ttl', async () => {
    const [one, two] = [candidate('one'), candidate('two')];
    const first = one.election.campaign('jobs');
    await pass(0);
    const token = first.fencingToken;
    const second = two.election.campaign('jobs');
    await pass(10_000);
    const resigned = first.resign();
    expect(first.isLeader).toBe(false);
    expect(first.signal.reason).toMatchObject({ reason: 'resigned' });
    await pass(1);
    await resigned;
    expect(second.isLeader).toBe(true);
    expect(second.fencingToken).toBeGreaterThan(token);
  });

  it('is possible while one waits, and twice', async () => {
    const [one, two] = [candidate('one'), candidate('two')];
    one.election.campaign('jobs');
    await pass(0);
    const second = two.election.campaign('jobs');
    await pass(10);
    await passUntil(Promise.all([second.resign(), second.resign()]));
    await passUntil(one.election.campaign('jobs').resign());
    await pass(60_000);
    expect(second.isLeader).toBe(false);
    expect(backend.inspect('leader:jobs')).toBeNull();
  });
});

describe('a campaign that fails by a mistake', () => {
  it('leads no more, gives the lock back, and says why', async () => {
    const error = vi.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    const { election } = candidate('one');
    election.listen('jobs', {
      elected: () => {
        throw new Error('a mistake');
      },
    });
    const campaign = election.campaign('jobs');
    await pass(10);
    expect(campaign.isLeader).toBe(false);
    expect(backend.inspect('leader:jobs')).toBeNull();
    expect(error).toHaveBeenCalledWith('The campaign of one for jobs has ended: a mistake');
  });
});

describe('changes$', () => {
  it('tells of each term, and of the present one whoever comes later, and completes', async () => {
    const one = candidate('one');
    const leadership = one.election.campaign('jobs');
    const told: (LeadershipChange | 'complete')[] = [];
    const late: (LeadershipChange | 'complete')[] = [];
    const listen = (to: typeof told): unknown =>
      leadership.changes$.subscribe({
        next: (change) => to.push(change),
        complete: () => to.push('complete'),
      });
    listen(told);
    await pass(0);
    listen(late);
    const { fencingToken } = leadership;
    const elected = { name: 'jobs', nodeId: 'one', isLeader: true, fencingToken };
    const deposed = { name: 'jobs', nodeId: 'one', isLeader: false, reason: 'resigned' };
    await passUntil(leadership.resign());
    await pass(0);
    expect(told).toEqual([elected, deposed, 'complete']);
    expect(late).toEqual([elected, deposed, 'complete']);
    const afterwards: typeof told = [];
    listen(afterwards);
    expect(afterwards).toEqual(['complete']);
  });
});

describe('a process that was restarted under the same node', () => {
  it('is another candidate, and waits for the ttl of its former self', async () => {
    const former = candidate('one');
    former.election.campaign('jobs');
    await pass(0);
    former.connection.isCut = true;
    const present = candidate('one').election.campaign('jobs');
    await pass(5000);
    expect(present.isLeader).toBe(false);
    await pass(2000);
    expect(present.isLeader).toBe(true);
  });

  it('cannot be renewed by its former self', async () => {
    const former = candidate('one');
    const before = former.election.campaign('jobs');
    await pass(0);
    former.connection.isCut = true;
    const present = candidate('one').election.campaign('jobs');
    await pass(7000);
    former.connection.isCut = false;
    await pass(60_000);
    expect([before.isLeader, present.isLeader]).toEqual([false, true]);
  });

  it('takes its seat back at once if it may', async () => {
    const former = candidate('one');
    former.election.campaign('jobs');
    await pass(0);
    const token = former.election.campaign('jobs').fencingToken;
    former.connection.isCut = true;
    const present = candidate('one', { ...OPTIONS, reclaim: true }).election.campaign('jobs');
    await pass(1);
    expect(present.isLeader).toBe(true);
    expect(present.fencingToken).toBeGreaterThan(token);
  });

  it('does not take the seat that it keeps itself for work of the term before', async () => {
    const { election } = candidate('one', { ...OPTIONS, reclaim: true });
    const before = election.stand('jobs');
    await pass(0);
    const leave = before.term!.enter();
    const resigned = before.resign();
    const after = election.campaign('jobs');
    await pass(10_000);
    expect(after.isLeader).toBe(false);
    leave();
    await passUntil(resigned);
    await pass(1000);
    expect(after.isLeader).toBe(true);
  });

  it('takes nobody else’s seat', async () => {
    const other = candidate('other').election.campaign('jobs');
    await pass(0);
    const present = candidate('one', { ...OPTIONS, reclaim: true }).election.campaign('jobs');
    await pass(60_000);
    expect([other.isLeader, present.isLeader]).toEqual([true, false]);
  });
});
