import { Logger, SetMetadata } from '@nestjs/common';
import { concat, lastValueFrom, NEVER, Observable, of, Subject } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { currentLock } from '../../../lib/core/frames.js';
import { LeaderOnly } from '../../../lib/decorators/leader-only.decorator.js';
import { OnDeposed } from '../../../lib/decorators/on-deposed.decorator.js';
import { OnElected } from '../../../lib/decorators/on-elected.decorator.js';
import { WithLock } from '../../../lib/decorators/with-lock.decorator.js';
import { LockConfigError } from '../../../lib/errors/lock-config.error.js';
import type { LeaderTerm } from '../../../lib/interfaces/leader-election.interface.js';
import { currentTerm } from '../../../lib/leader/current-term.js';
import { LeaderElection } from '../../../lib/leader/leader-election.js';
import { leaderRolesOf } from '../../../lib/leader/leader-role.accessor.js';
import { attachLocks } from '../../../lib/testing/attach-locks.js';
import { Deferred } from '../../support/deferred.js';
import { Bench, decorate, errorOf, listen, methodOf, settled } from './support.js';

class Jobs {
  work: () => Promise<string> = async () => 'done';
  stream: Observable<string> = of('done');

  @LeaderOnly('jobs')
  async run(..._args: unknown[]): Promise<string | undefined> {
    return this.work();
  }

  @LeaderOnly('jobs')
  watch(): Observable<string> {
    return this.stream;
  }

  @LeaderOnly('jobs')
  untold(): PromiseLike<string | undefined> & object {
    return this.stream as never;
  }

  @LeaderOnly('jobs')
  @WithLock('job:<0>')
  async runLocked(_id: string): Promise<readonly string[] | undefined> {
    return [currentLock()!.keys[0]!, currentLock('leader:jobs')!.keys[0]!];
  }
}

let bench: Bench<Jobs>;
let jobs: Jobs;

beforeEach(() => {
  for (const level of ['log', 'warn', 'error'] as const) {
    vi.spyOn(Logger.prototype, level).mockImplementation(() => undefined);
  }
  bench = new Bench(Jobs);
  jobs = bench.object;
});

afterEach(async () => {
  await LeaderElection.of(bench.locks)[Symbol.asyncDispose]();
  vi.restoreAllMocks();
});

async function lead(): Promise<void> {
  LeaderElection.of(bench.locks).campaign('jobs');
  await settled();
}

describe('a method that runs on the leader only', () => {
  it('gives undefined elsewhere, and its body does not run', async () => {
    await bench.locks.acquire('leader:jobs');
    await expect(jobs.run()).resolves.toBeUndefined();
    await settled();
    jobs.work = () => Promise.reject(new Error('it ran'));
    await expect(jobs.run()).resolves.toBeUndefined();
    expect(listen(jobs.watch())).toEqual(['complete']);
  });

  it('stands from its first call on where Nest has not started it', async () => {
    await expect(jobs.run()).resolves.toBeUndefined();
    await settled();
    await expect(jobs.run()).resolves.toBe('done');
  });

  it('runs on the leader, under its lock', async () => {
    await lead();
    jobs.work = async () => String(currentLock()?.fencingToken);
    const { fencingToken } = LeaderElection.of(bench.locks).campaign('jobs');
    await expect(jobs.run()).resolves.toBe(String(fencingToken));
    jobs.stream = new Observable((subscriber) => {
      subscriber.next(String(currentLock()?.keys));
      subscriber.complete();
    });
    const told = listen(jobs.watch());
    await settled();
    expect(told).toEqual(['leader:jobs', 'complete']);
  });

  it('is told what it ended with itself', async () => {
    await lead();
    jobs.work = () => Promise.reject(new Error('its own'));
    await expect(jobs.run()).rejects.toThrow('its own');
    jobs.stream = new Observable((subscriber) => subscriber.error(new Error('its own')));
    const told = listen(jobs.watch());
    await settled();
    expect(told).toEqual(['its own']);
  });

  it('rejects with LockLostError if the lock was lost while it ran, whatever it ended with', async () => {
    await lead();
    const ends = [new Deferred<string>(), new Deferred<string>()] as const;
    const calls = ends.map((end) => {
      jobs.work = () => end.promise;
      return jobs.run();
    });
    const told = listen(jobs.watch.call({ __proto__: jobs, stream: NEVER } as never));
    await bench.locks.forceRelease('leader:jobs');
    const failure = new Error('its own');
    ends[0].resolve('done');
    ends[1].reject(failure);
    await expect(calls[0]).rejects.toMatchObject({ code: 'LOCK_LOST', reason: 'forced' });
    await expect(calls[1]).rejects.toMatchObject({ code: 'LOCK_LOST', cause: failure });
    await settled();
    expect(told).toEqual(['LOCK_LOST']);
  });

  it('runs where any candidate of the process leads, under the lock of that one', async () => {
    await lead();
    const election = LeaderElection.of(bench.locks);
    const second = election.campaign('jobs', { nodeId: 'second' });
    await bench.locks.forceRelease('leader:jobs');
    await settled();
    expect(second.isLeader).toBe(true);
    jobs.work = async () => String(currentTerm()?.nodeId);
    await expect(jobs.run()).resolves.toBe('second');
  });

  it('may resign, and does not wait for its own end', async () => {
    await lead();
    const campaign = LeaderElection.of(bench.locks).campaign('jobs');
    jobs.work = async () => {
      await campaign.resign();
      return `leads: ${campaign.isLeader}, has the seat: ${bench.locked.join()}`;
    };
    await expect(jobs.run()).resolves.toBe('leads: false, has the seat: leader:jobs');
    await campaign.resign();
    expect(bench.locked).toEqual([]);
  });

  it('runs to its end when the process resigns, and keeps the seat so long', async () => {
    await lead();
    const end = new Deferred<string>();
    jobs.work = () => end.promise;
    const values = new Subject<string>();
    jobs.stream = concat(of('first'), values);
    const called = jobs.run();
    const told = listen(jobs.watch());
    const resigned = LeaderElection.of(bench.locks).campaign('jobs').resign();
    await settled();
    expect(bench.locked).toEqual(['leader:jobs']);
    end.resolve('late');
    await expect(called).resolves.toBe('late');
    await settled();
    expect(bench.locked).toEqual(['leader:jobs']);
    values.next('second');
    values.complete();
    await resigned;
    expect(told).toEqual(['first', 'second', 'complete']);
    expect(bench.locked).toEqual([]);
  });

  it('knows its term, whose signal aborts when the process resigns', async () => {
    await lead();
    const end = new Deferred<string>();
    let term: LeaderTerm | undefined;
    jobs.work = () => {
      term = currentTerm();
      expect(currentTerm('jobs')).toBe(term);
      expect(currentTerm('other')).toBeUndefined();
      return end.promise;
    };
    const called = jobs.run();
    expect(term).toMatchObject({ name: 'jobs', isLive: true });
    expect(term!.fencingToken).toBe(LeaderElection.of(bench.locks).campaign('jobs').fencingToken);
    const resigned = LeaderElection.of(bench.locks).campaign('jobs').resign();
    expect(term!.signal.aborted).toBe(true);
    expect(currentTerm()).toBeUndefined();
    end.resolve('done');
    await expect(called).resolves.toBe('done');
    await resigned;
  });

  it('lets go of the seat when who follows its observable leaves', async () => {
    await lead();
    jobs.stream = NEVER;
    const subscription = jobs.watch().subscribe();
    const resigned = LeaderElection.of(bench.locks).campaign('jobs').resign();
    await settled();
    expect(bench.locked).toEqual(['leader:jobs']);
    subscription.unsubscribe();
    await resigned;
    expect(bench.locked).toEqual([]);
  });

  it('looks who leads when its observable is subscribed to, each time', async () => {
    const watched = jobs.watch();
    expect(listen(watched)).toEqual(['complete']);
    await settled();
    await expect(lastValueFrom(watched)).resolves.toBe('done');
  });

  it('runs beside itself: the seat is no lock between calls', async () => {
    await lead();
    const end = new Deferred<string>();
    jobs.work = () => end.promise;
    const calls = [jobs.run(), jobs.run()];
    end.resolve('both');
    await expect(Promise.all(calls)).resolves.toEqual(['both', 'both']);
  });

  it('may be locked as well', async () => {
    await lead();
    await expect(jobs.runLocked('7')).resolves.toEqual(['job:7', 'leader:jobs']);
    expect(bench.locked).toEqual(['leader:jobs']);
  });

  it('refuses an observable that nobody could have expected', async () => {
    await lead();
    await expect(jobs.untold()).rejects.toThrow(LockConfigError);
    await expect(jobs.untold()).rejects.toThrow(/Jobs\.untold returned an Observable.*returns/);
  });

  it('keeps its name, its length and what other decorators wrote on it, above and below', () => {
    class Both {
      async run(_one: string, _two: string): Promise<void> {}
    }
    decorate(
      Both.prototype,
      'run',
      SetMetadata('above', 1),
      LeaderOnly('x'),
      SetMetadata('below', 2),
    );
    const method = methodOf(Both, 'run');
    expect([method.name, method.length]).toEqual(['run', 2]);
    expect(Reflect.getMetadata('above', method)).toBe(1);
    expect(Reflect.getMetadata('below', method)).toBe(2);
    expect(leaderRolesOf(method)).toHaveLength(1);
  });

  it('needs a lock service', async () => {
    await expect(new Jobs().run()).rejects.toThrow(/Jobs\.run needs a LockService/);
  });

  it('may belong to a named instance', async () => {
    class Billing {
      async run(): Promise<string | undefined> {
        return 'sent';
      }
    }
    decorate(Billing.prototype, 'run', LeaderOnly('mails', { service: 'billing' }));
    const billing = new Billing();
    const locks = attachLocks(billing, undefined, 'billing');
    LeaderElection.of(locks).campaign('mails');
    await settled();
    await expect(billing.run()).resolves.toBe('sent');
    await LeaderElection.of(locks)[Symbol.asyncDispose]();
  });
});

describe('a class is refused when it is loaded', () => {
  const decorators = { LeaderOnly, OnElected, OnDeposed };

  describe.each(Object.entries(decorators))('for @%s', (name, decorator) => {
    class Some {
      async run(): Promise<void> {}
      *generate(): Generator {}
      get value(): string {
        return '';
      }
    }
    const load = (member: string, ...args: unknown[]): Error =>
      errorOf(() =>
        decorate(Some.prototype, member, Reflect.apply(decorator, undefined, args) as never),
      );

    it.each<[string, unknown[], RegExp]>([
      ['no name', [undefined], /Option `name`/],
      ['an empty name', [''], /Option `name` is ""/],
      ['an unknown option', ['x', { tll: 1 }], /Unknown option `tll`; did you mean `ttl`\?/],
      ['a bad option', ['x', { ttl: 'soon' }], /Option `ttl` is "soon"/],
      ['options that are none', ['x', 5], /Option `options` is 5/],
      ['a bad service', ['x', { service: '' }], /Option `service`/],
    ])('with %s', (_, args, why) => {
      const error = load('run', ...args);
      expect(error).toBeInstanceOf(LockConfigError);
      expect(error.message).toMatch(new RegExp(`^@${name} of Some\\.run: `));
      expect(error.message).toMatch(why);
    });

    it('on an accessor', () => {
      expect(load('value', 'x')).toBeInstanceOf(LockConfigError);
    });
  });

  it('for @LeaderOnly on a generator', () => {
    class Some {
      *run(): Generator {}
    }
    expect(errorOf(() => decorate(Some.prototype, 'run', LeaderOnly('x') as never))).toMatchObject({
      message: expect.stringMatching(/Some\.run is a generator/),
    });
  });
});
