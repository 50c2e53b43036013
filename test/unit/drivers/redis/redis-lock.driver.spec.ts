import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LockConfigError } from '../../../../lib/errors/lock-config.error.js';
import { LockDriverError } from '../../../../lib/errors/lock-driver.error.js';
import { RedisLockDriver } from '../../../../lib/drivers/redis/redis-lock.driver.js';
import { Deferred } from '../../../support/deferred.js';
import { watch } from '../../../support/outcome.js';
import { FakeIoredis } from './fake-ioredis.js';
import { FakeNodeRedis } from './fake-node-redis.js';
import { type FakeServer, INFO, silence } from './fake-server.js';
import { microtasks } from './microtasks.js';

// The real one knows nothing of fake timers.
vi.mock('node:timers/promises', () => ({
  setTimeout: (ms: number) => new Promise((resolve) => globalThis.setTimeout(resolve, ms)),
}));

let client: FakeIoredis;
let server: FakeServer;
let driver: RedisLockDriver;
const lease = { key: 'k', owner: 'o', ttl: 1000 };
const admission = { resource: 'r', token: 1, retention: 1000 };

beforeEach(() => {
  vi.useFakeTimers();
  client = new FakeIoredis();
  ({ server } = client);
  driver = new RedisLockDriver({ client, answerTimeout: '5s' });
});

afterEach(() => {
  vi.useRealTimers();
});

/** The answers are of ioredis: all in one page. */
function scanFinds(...pages: (readonly string[])[]): void {
  client.answer = (command, cursor) => {
    const index = Number(cursor);
    const next = index + 1 < pages.length ? String(index + 1) : '0';
    return command === 'scan' ? [next, pages[index] ?? []] : undefined;
  };
}

const listed = async (request?: { prefix?: string; limit?: number }): Promise<string[]> =>
  (await driver.list(request)).map(({ key }) => key);
const patterns = (): unknown[] => client.commands.map((command) => command[3]);

const fails = (message: string) => (): never => {
  throw new Error(message);
};

describe('to connect', () => {
  it('is done once for many calls, of whatever kind', async () => {
    await Promise.all([driver.connect(), driver.connect(), driver.acquire(lease)]);
    await driver.connect();
    await driver.renew([lease]);
    await driver.release(lease);
    await driver.inspect('k');
    expect(server.callsOf('prefix')).toHaveLength(1);
    expect(server.callsOf('rehearse')).toHaveLength(1);
  });

  it.each([
    'acquire',
    'renew',
    'release',
    'inspect',
    'list',
    'forceRelease',
    'admitToken',
  ] as const)('is done by the first call where it was not asked for: %s', async (name) => {
    scanFinds([]);
    const calls = {
      acquire: () => driver.acquire(lease),
      renew: () => driver.renew([lease]),
      release: () => driver.release(lease),
      inspect: () => driver.inspect('k'),
      list: () => driver.list(),
      forceRelease: () => driver.forceRelease('k'),
      admitToken: () => driver.admitToken(admission),
    };
    await calls[name]();
    expect(server.callsOf('prefix')).toHaveLength(1);
    await calls[name]();
    expect(server.callsOf('prefix')).toHaveLength(1);
  });

  it('gives the warnings, each time', async () => {
    server.info = () => INFO.replace('noeviction', 'volatile-lru');
    const warnings = [expect.stringContaining('volatile-lru')];
    await expect(driver.connect()).resolves.toEqual(warnings);
    await expect(driver.connect()).resolves.toEqual(warnings);
  });

  it('can be tried again when it has failed, and has failed for all who asked', async () => {
    server.info = () => INFO.replace('role:master', 'role:slave');
    const outcomes = [watch(driver.connect()), watch(driver.acquire(lease))];
    await microtasks();
    for (const { error } of outcomes) {
      expect(error?.message).toContain('replica');
    }
    server.info = () => INFO;
    await expect(driver.connect()).resolves.toEqual([]);
    await expect(driver.acquire(lease)).resolves.toEqual({ firstToken: 1000, tokens: 1 });
  });

  it('is refused for a client that is not connected, and can be tried again when it is', async () => {
    const unconnected = new FakeNodeRedis();
    unconnected.isOpen = false;
    driver = new RedisLockDriver(unconnected);
    await expect(driver.connect()).rejects.toThrow(LockConfigError);
    await expect(driver.connect()).rejects.toThrow('await client.connect()');
    expect(unconnected.server.calls).toEqual([]);
    unconnected.isOpen = true;
    await expect(driver.connect()).resolves.toEqual([]);
  });

  it('fails in time where the server does not answer, and can be tried again', async () => {
    server.answers.prefix = silence;
    const outcome = watch(driver.connect());
    await vi.advanceTimersByTimeAsync(4999);
    expect(outcome.settled).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(outcome.error).toBeInstanceOf(LockDriverError);
    expect(outcome.error?.message).toBe('Redis has not answered connect within 5000 ms');
    server.answers.prefix = ({ keys }) => keys[0];
    await expect(driver.connect()).resolves.toEqual([]);
  });

  it('waits for a server that is loading, as long as for any answer', async () => {
    server.answers.prefix = fails('LOADING Redis is loading the dataset in memory');
    const outcome = watch(driver.connect());
    await vi.advanceTimersByTimeAsync(4800);
    server.answers.prefix = ({ keys }) => keys[0];
    await vi.advanceTimersByTimeAsync(100);
    expect(outcome.get()).toEqual([]);
  });

  it('says that the server is loading where it never ends, not that it was silent', async () => {
    server.answers.prefix = fails('LOADING Redis is loading the dataset in memory');
    const outcome = watch(driver.connect());
    await vi.advanceTimersByTimeAsync(5000);
    expect(outcome.error).toBeInstanceOf(LockDriverError);
    expect(outcome.error?.message).toContain('not ready yet');
  });

  it('leaves nothing open where it succeeds too late', async () => {
    const opened = new Deferred();
    client.prepare = (duplicate) => {
      duplicate.answer = () => opened.promise;
      duplicate.answerPipeline = () =>
        Promise.resolve([
          [null, 1],
          [null, 0],
        ]);
    };
    driver = new RedisLockDriver({ client, replicas: { min: 1 }, answerTimeout: 100 });
    const outcome = watch(driver.connect());
    await vi.advanceTimersByTimeAsync(100);
    expect(outcome.error?.message).toContain('connect');
    opened.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(client.duplicates[0]!.commands.at(-1)).toEqual(['disconnect']);
  });
});

describe('to listen to releases', () => {
  it('is not possible before the driver is connected', async () => {
    expect(driver.onReleased).toBeUndefined();
    await driver.connect();
    expect(driver.onReleased).toBeTypeOf('function');
  });

  it('is done by a duplicate, and told of by it', async () => {
    await driver.connect();
    const listener = vi.fn<() => void>();
    const leave = driver.onReleased!('k', listener);
    const [duplicate] = client.duplicates;
    await microtasks();
    expect(duplicate!.commands).toEqual([['subscribe', 'lock:k']]);
    listener.mockClear();
    duplicate!.emit('message', 'lock:k', '');
    expect(listener).toHaveBeenCalledTimes(1);
    leave();
    duplicate!.emit('message', 'lock:k', '');
    expect(listener).toHaveBeenCalledTimes(1);
  });

  it('is given up for a while where it is refused', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    await driver.connect();
    client.prepare = (duplicate) => {
      duplicate.answer = () => Promise.reject(new Error('NOPERM no permissions'));
    };
    driver.onReleased!('k', () => undefined);
    await microtasks();
    expect(driver.onReleased).toBeUndefined();
    expect(warn).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(30_000);
    expect(driver.onReleased).toBeTypeOf('function');
    warn.mockRestore();
  });
});

describe('a lock', () => {
  it('is acquired, renewed and released by one call each', async () => {
    await driver.connect();
    server.answers.release = () => [25, 2];
    await expect(driver.acquire(lease)).resolves.toEqual({ firstToken: 1000, tokens: 1 });
    await expect(driver.renew([lease, lease])).resolves.toEqual([
      { renewed: true },
      { renewed: true },
    ]);
    await expect(driver.release(lease)).resolves.toEqual({
      released: true,
      wantedFor: 25,
      wantedBy: 2,
    });
    expect(server.callsOf('acquire')).toHaveLength(1);
    expect(server.callsOf('renew')).toHaveLength(1);
    expect(server.callsOf('release')).toHaveLength(1);
  });

  it('is renewed by nothing where there is none', async () => {
    await driver.connect();
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    await expect(driver.renew([])).resolves.toEqual([]);
    expect(server.callsOf('renew')).toEqual([]);
    expect(warn).not.toHaveBeenCalled();
    warn.mockRestore();
  });

  it('in a cluster is renewed though another’s node is silent, within a sixth of the shortest ttl', async () => {
    client.isCluster = true;
    client.primaries = [new FakeIoredis(server)];
    driver = new RedisLockDriver(client);
    await driver.connect();
    server.answers.renew = ({ keys }) => (keys[0] === 'lock:{b}' ? silence() : []);
    const leases = [
      { ...lease, key: '{a}', ttl: 1200 },
      { ...lease, key: '{b}', ttl: 600 },
      { ...lease, key: '{c}', ttl: 900 },
    ];
    const outcome = watch(driver.renew(leases));
    await vi.advanceTimersByTimeAsync(99);
    expect(outcome.settled).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    const renewed = { renewed: true };
    expect(outcome.get()).toEqual([renewed, expect.any(LockDriverError), renewed]);
  });

  it('is renewed with very many others', async () => {
    await driver.connect();
    const leases = Array.from({ length: 200_000 }, (_, index) => ({ ...lease, key: `${index}` }));
    const answers = await driver.renew(leases);
    expect(answers).toHaveLength(200_000);
    expect(answers.every((answer) => 'renewed' in answer && answer.renewed)).toBe(true);
    expect(server.callsOf('renew')).toHaveLength(800);
  });

  it('is acquired and released without a time-out of the driver’s own: the engine has one', async () => {
    await driver.connect();
    server.answers.acquire = silence;
    server.answers.release = silence;
    const outcomes = [watch(driver.acquire(lease)), watch(driver.release(lease))];
    await vi.advanceTimersByTimeAsync(60_000);
    expect(outcomes.map(({ settled }) => settled)).toEqual([false, false]);
  });

  it('is inspected', async () => {
    await expect(driver.inspect('k')).resolves.toEqual({
      key: 'k',
      owner: 'owner of lock:k',
      fencingToken: '1000',
      remaining: 500,
    });
    server.answers.inspect = () => [0, 0, ''];
    await expect(driver.inspect('k')).resolves.toBeNull();
  });

  it('is released by force: true where somebody had it, numbers as strings too', async () => {
    await expect(driver.forceRelease('k')).resolves.toBe(true);
    expect(server.callsOf('forceRelease').map(({ keys, args }) => [keys, args])).toEqual([
      [['lock:k'], []],
    ]);
    for (const [reply, answer] of [
      [0, false],
      ['0', false],
      ['1', true],
    ]) {
      server.answers.forceRelease = () => reply;
      await expect(driver.forceRelease('k')).resolves.toBe(answer);
    }
  });
});

describe('the gate', () => {
  it('gives the token, a minute’s grace and the memory asked for, under a name that is no lock’s', async () => {
    const request = { resource: 'orders', token: 1_795_004_133_760_712, retention: 604_800_000 };
    await expect(driver.admitToken(request)).resolves.toEqual({ admitted: true });
    expect(server.callsOf('admit').map(({ keys, args }) => [keys, args])).toEqual([
      [['fence:lock:orders'], ['1795004133760712', '60000000', '604800000000', '604860000']],
    ]);
  });

  it('takes part in no transaction, and says so', async () => {
    await expect(driver.admitToken(admission, {})).rejects.toThrow(
      /`redis` knows no transactions.*without a transaction/,
    );
    await expect(driver.admitToken(admission, null)).rejects.toMatchObject({ code: 'LOCK_CONFIG' });
    expect(server.callsOf('admit')).toEqual([]);
  });

  it('says by which rule it refuses a token, and what the newest is', async () => {
    server.answers.admit = () => ['older', 9];
    await expect(driver.admitToken(admission)).resolves.toEqual({
      admitted: false,
      rule: 'older',
      newest: 9,
    });
    server.answers.admit = () => ['forgotten', '0'];
    await expect(driver.admitToken(admission)).resolves.toEqual({
      admitted: false,
      rule: 'forgotten',
    });
  });
});

describe('a list', () => {
  it('tells of the locks that are held, without the prefixes', async () => {
    server.keyPrefix = 'app:';
    scanFinds(['app:lock:a', 'app:lock:b'], [], ['app:lock:c']);
    server.answers.inspect = ({ keys }) =>
      keys.flatMap((key) => (key === 'lock:b' ? [0, 0, ''] : [500, 7, 'o']));
    await expect(driver.list()).resolves.toEqual([
      { key: 'a', owner: 'o', fencingToken: '7', remaining: 500 },
      { key: 'c', owner: 'o', fencingToken: '7', remaining: 500 },
    ]);
    expect(patterns()).toEqual(Array(3).fill('app:lock:*'));
  });

  it('looks for keys that begin with a prefix, literally', async () => {
    server.keyPrefix = 'app[1]:';
    scanFinds([]);
    await listed({ prefix: 'a*b?c[d]e\\f^-' });
    expect(patterns()).toEqual(['app\\[1\\]:lock:a\\*b\\?c\\[d\\]e\\\\f^-*']);
  });

  it('tells of a key once, though it was found several times', async () => {
    scanFinds(['lock:a', 'lock:a', 'lock:b'], ['lock:b', 'lock:c', 'lock:a']);
    await expect(listed()).resolves.toEqual(['a', 'b', 'c']);
    expect(server.callsOf('inspect').map(({ keys }) => keys)).toEqual([
      ['lock:a', 'lock:b'],
      ['lock:c'],
    ]);
  });

  it('ends at the limit, and scans no further', async () => {
    scanFinds(['lock:a', 'lock:b'], ['lock:c', 'lock:d'], ['lock:e']);
    await expect(listed({ limit: 3 })).resolves.toEqual(['a', 'b', 'c']);
    expect(client.commands).toHaveLength(2);
    await expect(listed({ limit: 2 })).resolves.toEqual(['a', 'b']);
    expect(client.commands).toHaveLength(3);
  });

  it('ends at 100 where no limit is given', async () => {
    scanFinds(Array.from({ length: 150 }, (_, index) => `lock:${index}`));
    await expect(listed()).resolves.toHaveLength(100);
  });

  it('fails with what fails to inspect', async () => {
    scanFinds(['lock:a', 'lock:b']);
    server.answers.inspect = fails('CLUSTERDOWN The cluster is down');
    await expect(listed()).rejects.toThrow(LockDriverError);
    await expect(listed()).rejects.toThrow('CLUSTERDOWN');
  });

  it('fails with what fails to scan, explained', async () => {
    client.answer = () => Promise.reject(new Error("NOPERM no permissions to run 'scan'"));
    const outcome = watch(driver.list());
    await vi.advanceTimersByTimeAsync(0);
    expect(outcome.error?.message).toContain('docs/redis.md');
    expect(outcome.error).toBeInstanceOf(LockDriverError);
  });
});

describe('what an operator asks for', () => {
  it.each(['inspect', 'list', 'forceRelease', 'admitToken'] as const)(
    'fails in time where the server does not answer: %s',
    async (name) => {
      await driver.connect();
      client.answer = silence;
      server.answers.inspect = silence;
      server.answers.forceRelease = silence;
      server.answers.admit = silence;
      const calls = {
        inspect: () => driver.inspect('k'),
        list: () => driver.list(),
        forceRelease: () => driver.forceRelease('k'),
        admitToken: () => driver.admitToken(admission),
      };
      const outcome = watch<unknown>(calls[name]());
      await vi.advanceTimersByTimeAsync(4999);
      expect(outcome.settled).toBe(false);
      await vi.advanceTimersByTimeAsync(1);
      expect(outcome.error).toBeInstanceOf(LockDriverError);
      expect(outcome.error?.message).toBe(`Redis has not answered ${name} within 5000 ms`);
    },
  );

  it('fails with what the server says, explained', async () => {
    await driver.connect();
    const bad = fails("READONLY You can't write against a read only replica.");
    server.answers.inspect = bad;
    server.answers.forceRelease = bad;
    server.answers.admit = bad;
    for (const answer of [
      driver.inspect('k'),
      driver.forceRelease('k'),
      driver.admitToken(admission),
    ]) {
      await expect(answer).rejects.toThrow('this is a replica');
    }
  });
});

describe('to close', () => {
  it('closes what the driver opened and never the client', async () => {
    client.prepare = (duplicate) => {
      duplicate.answerPipeline = () =>
        Promise.resolve([
          [null, 1],
          [null, 0],
        ]);
    };
    driver = new RedisLockDriver({ client, replicas: { min: 1 } });
    await driver.connect();
    driver.onReleased!('k', () => undefined);
    await driver.close();
    await driver.close();
    expect(client.duplicates).toHaveLength(2);
    for (const { commands } of client.duplicates) {
      expect(commands).toContainEqual(['disconnect']);
    }
    expect(client.commands).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('waits for a connect that is under way, and closes what comes of it', async () => {
    client.prepare = (duplicate) => {
      duplicate.answerPipeline = () =>
        Promise.resolve([
          [null, 1],
          [null, 0],
        ]);
    };
    driver = new RedisLockDriver({ client, replicas: { min: 1 } });
    const prefix = new Deferred<string>();
    server.answers.prefix = () => prefix.promise;
    const connecting = watch(driver.connect());
    const closing = watch(driver.close());
    await microtasks();
    expect(closing.settled).toBe(false);
    prefix.resolve('lock:\0');
    await vi.advanceTimersByTimeAsync(0);
    expect(connecting.settled && closing.settled).toBe(true);
    expect(client.duplicates[0]!.commands.at(-1)).toEqual(['disconnect']);
  });

  it('is done also where a connect under way fails, or none was asked for', async () => {
    await driver.close();
    expect(server.calls).toEqual([]);
    server.info = () => INFO.replace('7.0.15', '5.0.0');
    const connecting = watch(driver.connect());
    await driver.close();
    expect(connecting.error?.message).toContain('5.0.0');
  });

  it('lets what is given back late go by the client, and opens nothing for it', async () => {
    await driver.connect();
    await driver.close();
    await expect(driver.release(lease)).resolves.toEqual({ released: true });
    driver.onReleased?.('k', () => undefined)();
    expect(client.duplicates).toEqual([]);
    expect(server.callsOf('prefix')).toHaveLength(1);
  });

  it('can be followed by a new connect', async () => {
    await driver.connect();
    await driver.close();
    await driver.connect();
    driver.onReleased!('k', () => undefined);
    expect(client.duplicates).toHaveLength(1);
    expect(server.callsOf('prefix')).toHaveLength(2);
    await driver.close();
    expect(client.duplicates[0]!.commands).toContainEqual(['disconnect']);
  });
});
