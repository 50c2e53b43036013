import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LockDriverError } from '../../../../lib/errors/lock-driver.error.js';
import { hashSlot } from '../../../../lib/drivers/redis/hash-slot.js';
import type { RedisLockSettings } from '../../../../lib/drivers/redis/redis-lock.options.js';
import { openSession, type RedisSession } from '../../../../lib/drivers/redis/redis-session.js';
import { scriptsFor } from '../../../../lib/drivers/redis/scripts.js';
import { watch } from '../../../support/outcome.js';
import { FakePort } from './fake-port.js';
import { INFO, RETENTION } from './fake-server.js';
import { microtasks } from './microtasks.js';

// The real one knows nothing of fake timers.
vi.mock('node:timers/promises', () => ({
  setTimeout: (ms: number) => new Promise((resolve) => globalThis.setTimeout(resolve, ms)),
}));

let port: FakePort;

beforeEach(() => {
  vi.useFakeTimers();
  port = new FakePort();
});

afterEach(() => {
  vi.useRealTimers();
});

const open = (settings: Partial<RedisLockSettings> = {}): Promise<RedisSession> =>
  openSession(
    {
      port,
      prefix: 'lock:',
      retention: RETENTION,
      replicas: undefined,
      answerTimeout: 10_000,
      ...settings,
    },
    performance.now() + 10_000,
  );

const fails = (message: string) => (): never => {
  throw new Error(message);
};

describe('the boot of the driver', () => {
  it('asks for the full names of keys, looks at the server and rehearses, and no more', async () => {
    const info = vi.spyOn(port, 'info');
    const session = await open();
    expect(info).toHaveBeenCalledTimes(1);
    expect(session.warnings).toEqual([]);
    expect(session.fullPrefix).toBe('lock:');
    expect(port.server.calls.map(({ keys, args }) => [keys, args])).toEqual([
      [['lock:\0'], []],
      [['lock:\0'], []],
    ]);
    expect(port.server.callsOf('rehearse')).toHaveLength(1);
    expect(port.subscribers).toEqual([]);
    expect(port.connections).toEqual([]);
  });

  it('finds out what the client puts before keys, also where it answers with buffers', async () => {
    port.server.keyPrefix = 'app:';
    expect((await open()).fullPrefix).toBe('app:lock:');
    port.server.answers.prefix = () => Buffer.from('äpp:lock:\0');
    expect((await open()).fullPrefix).toBe('äpp:lock:');
  });

  it('passes on the warnings', async () => {
    port.server.info = () => INFO.replace('noeviction', 'allkeys-lru');
    expect((await open()).warnings).toEqual([expect.stringContaining('allkeys-lru')]);
  });

  it('sends the rehearsal along where the server does not know it', async () => {
    port.server.answers.rehearse = ({ by }) => (by === 'eval' ? [] : fails('NOSCRIPT')());
    await open();
    expect(port.server.callsOf('rehearse').map(({ by }) => by)).toEqual(['evalsha', 'eval']);
  });

  it('fails where a command is refused, and names it', async () => {
    port.server.answers.rehearse = () => [
      'publish',
      "ERR The user executing the script can't run this command or subcommand",
    ];
    const outcome = watch(open());
    await microtasks();
    expect(outcome.error).toBeInstanceOf(LockDriverError);
    expect(outcome.error?.message).toContain('publish');
    expect(outcome.error?.message).toContain('docs/redis.md');
  });

  it.each([
    ['of the first script', 'prefix'],
    ['of the rehearsal', 'rehearse'],
  ] as const)('fails with an error that says what to do: %s', async (_, name) => {
    port.server.answers[name] = fails('NOAUTH Authentication required.');
    const outcome = watch(open());
    await microtasks();
    expect(outcome.error).toBeInstanceOf(LockDriverError);
    expect(outcome.error?.message).toContain('give the client a password');
  });

  it('fails with an error that says what to do: of INFO', async () => {
    port.server.info = fails("NOPERM this user has no permissions to run the 'info' command");
    const outcome = watch(open());
    await microtasks();
    expect(outcome.error).toBeInstanceOf(LockDriverError);
    expect(outcome.error?.message).toContain('docs/redis.md');
  });

  it('refuses servers that cannot keep locks', async () => {
    port.server.info = () => INFO.replace('7.0.15', '5.0.0');
    await expect(open()).rejects.toThrow('5.0.0');
    port.server.info = () => INFO.replace('role:master', 'role:slave');
    await expect(open()).rejects.toThrow('replica');
  });
});

describe('a server that is loading', () => {
  it('is asked again until it has loaded', async () => {
    port.server.answers.prefix = fails('LOADING Redis is loading the dataset in memory');
    const outcome = watch(open());
    await vi.advanceTimersByTimeAsync(450);
    expect(outcome.settled).toBe(false);
    expect(port.server.calls).toHaveLength(5);
    port.server.answers.prefix = ({ keys }) => keys[0];
    await vi.advanceTimersByTimeAsync(50);
    expect(outcome.get().fullPrefix).toBe('lock:');
  });

  it('is not asked any more when the time is over', async () => {
    port.server.answers.prefix = fails('LOADING Redis is loading the dataset in memory');
    const outcome = watch(open());
    await vi.advanceTimersByTimeAsync(10_200);
    expect(outcome.error).toBeInstanceOf(LockDriverError);
    expect(outcome.error?.message).toContain('not ready yet');
    const asked = port.server.calls.length;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(port.server.calls).toHaveLength(asked);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is the only one that is asked again', async () => {
    port.server.answers.prefix = fails('MASTERDOWN Link with MASTER is down');
    const outcome = watch(open());
    await microtasks();
    expect(outcome.error?.message).toContain('MASTERDOWN');
    expect(port.server.calls).toHaveLength(1);
  });
});

describe('the scripts', () => {
  const cases = [
    { version: '7.0.15', isCluster: false, publish: 'PUBLISH', knowsFlags: true },
    { version: '6.2.14', isCluster: false, publish: 'PUBLISH', knowsFlags: false },
    { version: '7.0.15', isCluster: true, publish: 'SPUBLISH', knowsFlags: true },
    { version: '6.2.14', isCluster: true, publish: 'PUBLISH', knowsFlags: false },
  ] as const;

  it.each(cases)(
    'of $version, in a cluster: $isCluster, tell by $publish and have flags: $knowsFlags',
    async ({ version, isCluster, publish, knowsFlags }) => {
      port.isCluster = isCluster;
      port.server.info = () => INFO.replace('7.0.15', version);
      const session = await open();
      const expected = scriptsFor({ retention: RETENTION, publish, knowsFlags });
      expect(session.scripts.release.digest).toBe(expected.release.digest);
      session.channels.listen('k', () => undefined);
      expect(port.sharded).toEqual([publish === 'SPUBLISH']);
    },
  );
});

describe('the operations', () => {
  const lease = { key: 'k', owner: 'o', ttl: 1000 };

  it('name keys with the prefix, and leave the client’s own to the client', async () => {
    port.server.keyPrefix = 'app:';
    const session = await open({ prefix: 'p:' });
    await session.acquire.ask(lease);
    await session.renew.askAll([lease]);
    await session.release.ask(lease);
    await session.inspect.ask(lease);
    for (const name of ['acquire', 'renew', 'release', 'inspect'] as const) {
      expect(port.server.callsOf(name).map(({ keys }) => keys)).toEqual([['p:k']]);
    }
  });

  it('listen to channels with the full names of keys', async () => {
    port.server.keyPrefix = 'app:';
    const session = await open();
    session.channels.listen('k', () => undefined);
    expect(port.subscribers[0]!.asked).toEqual(['app:lock:k']);
  });

  it('count the others who were told of a release, without the listener that is here', async () => {
    const session = await open();
    port.server.answers.release = () => [25, 3];
    session.channels.listen('other', () => undefined);
    await expect(session.release.ask(lease)).resolves.toMatchObject({ wantedBy: 3 });
    session.channels.listen('k', () => undefined);
    await expect(session.release.ask(lease)).resolves.toMatchObject({ wantedBy: 2 });
  });

  it('share a call in a cluster only where the slots of the full names are the same', async () => {
    port.isCluster = true;
    port.server.keyPrefix = '{t';
    const session = await open({ prefix: 'ag}:' });
    await Promise.all([
      session.acquire.ask(lease),
      session.acquire.ask({ ...lease, key: 'another' }),
    ]);
    expect(hashSlot('{tag}:k')).toBe(hashSlot('{tag}:another'));
    expect(port.server.callsOf('acquire').map(({ keys }) => keys)).toEqual([
      ['ag}:k', 'ag}:another'],
    ]);

    port.server.keyPrefix = '';
    const other = await open();
    await Promise.all([other.release.ask(lease), other.release.ask({ ...lease, key: 'another' })]);
    expect(port.server.callsOf('release').map(({ keys }) => keys)).toEqual([
      ['lock:k'],
      ['lock:another'],
    ]);
  });

  it('share a call on one server, whatever the slots', async () => {
    const session = await open();
    await Promise.all(['k', 'l'].map((key) => session.acquire.ask({ ...lease, key })));
    expect(port.server.callsOf('acquire').map(({ keys }) => keys)).toEqual([['lock:k', 'lock:l']]);
  });
});

describe('with replicas', () => {
  const lease = { key: 'k', owner: 'o', ttl: 1000 };
  const replicas = { min: 1, timeout: 300 };

  it('the connection is opened at boot, and closed at the end', async () => {
    const session = await open({ replicas });
    expect(port.connections).toHaveLength(1);
    await session.close();
    expect(port.connections[0]!.closed).toBe(1);
  });

  it('grants and renewals go by that connection, the rest by the client', async () => {
    const session = await open({ replicas });
    const [connection] = port.connections;
    connection!.answer = () => Promise.resolve({ reply: [7, 1], replicas: 1 });
    const before = connection!.calls.length;
    await expect(session.acquire.ask(lease)).resolves.toEqual({ firstToken: 7, tokens: 1 });
    connection!.answer = () => Promise.resolve({ reply: [], replicas: 1 });
    await expect(session.renew.askAll([lease])).resolves.toEqual([{ renewed: true }]);
    await session.release.ask(lease);
    await session.inspect.ask(lease);
    expect(connection!.calls.slice(before).map(({ timeout }) => timeout)).toEqual([300, 300]);
    expect(port.server.callsOf('acquire')).toEqual([]);
    expect(port.server.callsOf('release')).toHaveLength(1);
    expect(port.server.callsOf('inspect')).toHaveLength(1);
  });

  it('a renewal that too few have confirmed is an error for that lease, not a loss', async () => {
    const session = await open({ replicas });
    port.connections[0]!.answer = () => Promise.resolve({ reply: [], replicas: 0 });
    const [answer] = await session.renew.askAll([lease]);
    expect(answer).toBeInstanceOf(LockDriverError);
  });

  it('a boot that fails at it is explained', async () => {
    port.open = () => Promise.reject(new Error('WRONGPASS invalid username-password pair'));
    const outcome = watch(open({ replicas }));
    await microtasks();
    expect(outcome.error).toBeInstanceOf(LockDriverError);
    expect(outcome.error?.message).toContain('password of the client is wrong');
  });
});
