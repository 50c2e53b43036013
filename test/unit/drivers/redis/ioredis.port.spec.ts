import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { IoredisPort } from '../../../../lib/drivers/redis/ioredis.port.js';
import type { SubscriberEvents } from '../../../../lib/drivers/redis/redis-port.js';
import { watch } from '../../../support/outcome.js';
import { FakeIoredis } from './fake-ioredis.js';
import { FakeServer } from './fake-server.js';
import { watched } from './watched-client.js';

/** For a connection to be there, in milliseconds. */
const PATIENCE = 700;

const events: SubscriberEvents = {
  message: vi.fn<(channel: string) => void>(),
  restored: vi.fn<() => void>(),
  ended: vi.fn<() => void>(),
};

let client: FakeIoredis;

beforeEach(() => {
  client = new FakeIoredis();
});

/** A cluster of two primaries. */
function cluster(): FakeIoredis {
  client.isCluster = true;
  client.primaries = [new FakeIoredis(new FakeServer()), new FakeIoredis(new FakeServer())];
  client.primaries[0]!.server.info = () => 'first';
  client.primaries[1]!.server.info = () => 'second';
  return client;
}

async function pagesOf(port: IoredisPort, pattern: string): Promise<(readonly string[])[]> {
  const pages: (readonly string[])[] = [];
  for await (const page of port.scan(pattern)) {
    pages.push(page);
  }
  return pages;
}

/** What a duplicate of a cluster is made with. */
const listening = (shardedSubscribers: boolean): object => ({
  keyPrefix: '',
  redisOptions: { password: 'p', keyPrefix: '' },
  lazyConnect: false,
  shardedSubscribers,
});

describe('a client of ioredis', () => {
  it('is told to be a cluster by its own word', () => {
    expect(new IoredisPort(client).isCluster).toBe(false);
    expect(new IoredisPort(cluster()).isCluster).toBe(true);
  });

  it('can be used as it is, connected or not', () => {
    client.status = 'wait';
    expect('complaint' in new IoredisPort(client)).toBe(false);
  });

  it('is given scripts with the number of keys, the keys and the arguments', async () => {
    const port = new IoredisPort(client);
    client.server.run = (call) => Promise.resolve(call);
    const [keys, args] = [
      ['k', 'l'],
      ['1', '2'],
    ];
    await expect(port.evalsha('abc', keys, args)).resolves.toEqual({
      by: 'evalsha',
      script: 'abc',
      keys,
      args,
    });
    await expect(port.eval('return', [], args)).resolves.toEqual({
      by: 'eval',
      script: 'return',
      keys: [],
      args,
    });
  });

  it('tells of its server, and of all primaries of a cluster', async () => {
    client.server.info = () => 'only';
    await expect(new IoredisPort(client).info()).resolves.toEqual(['only']);
    await expect(new IoredisPort(cluster()).info()).resolves.toEqual(['first', 'second']);
    expect(client.commands).toEqual([['nodes', 'master']]);
  });

  it('scans page by page until the cursor is 0 again', async () => {
    const pages: Record<string, [string, string[]]> = {
      0: ['17', ['a', 'b']],
      17: ['5', []],
      5: ['0', ['c']],
    };
    client.answer = (_, cursor) => pages[String(cursor)];
    await expect(pagesOf(new IoredisPort(client), 'lock:*')).resolves.toEqual([
      ['a', 'b'],
      [],
      ['c'],
    ]);
    expect(client.commands).toEqual(
      ['0', '17', '5'].map((cursor) => ['scan', cursor, 'MATCH', 'lock:*', 'COUNT', 1000]),
    );
  });

  it('scans all primaries of a cluster', async () => {
    const [first, second] = cluster().primaries;
    first!.answer = (_, cursor) => (cursor === '0' ? ['9', ['a']] : ['0', ['b']]);
    second!.answer = () => ['0', ['c']];
    await expect(pagesOf(new IoredisPort(client), '*')).resolves.toEqual([['a'], ['b'], ['c']]);
    expect(second!.commands[0]![1]).toBe('0');
  });
});

describe('a duplicate of a client of ioredis', () => {
  const options = Object.freeze({ keyPrefix: 'app:', lazyConnect: true });

  it('that listens names channels in full, connects by itself and never gives up', () => {
    client.options = options;
    new IoredisPort(client).subscribe(events, false);
    expect(client.duplicates.map(({ overrides }) => overrides)).toEqual([
      [
        {
          keyPrefix: '',
          lazyConnect: false,
          autoResubscribe: false,
          enableOfflineQueue: true,
          maxRetriesPerRequest: null,
          commandTimeout: undefined,
        },
      ],
    ]);
  });

  it('that listens in a cluster keeps its other options, and knows of shards only where they are', () => {
    cluster().options = { redisOptions: Object.freeze({ password: 'p', keyPrefix: 'app:' }) };
    const port = new IoredisPort(client);
    port.subscribe(events, true);
    port.subscribe(events, false);
    expect(client.duplicates.map((duplicate) => duplicate.overrides)).toEqual([
      [[], listening(true)],
      [[], listening(false)],
    ]);
  });

  it('for scripts that are waited for sends nothing twice, and keeps the prefix', async () => {
    client.options = options;
    const connection = await new IoredisPort(client).dedicated(PATIENCE);
    expect(client.duplicates.map(({ overrides }) => overrides)).toEqual([
      [
        {
          lazyConnect: true,
          autoResendUnfulfilledCommands: false,
          enableOfflineQueue: false,
          enableAutoPipelining: false,
          commandTimeout: undefined,
        },
      ],
    ]);
    expect(client.duplicates[0]!.commands).toEqual([['connect']]);
    connection.close();
    expect(client.duplicates[0]!.commands).toEqual([['connect'], ['disconnect']]);
  });

  it('that cannot connect is closed', async () => {
    client.prepare = (duplicate) => {
      duplicate.answer = () => Promise.reject(new Error('ECONNREFUSED'));
    };
    await expect(new IoredisPort(client).dedicated(PATIENCE)).rejects.toThrow('ECONNREFUSED');
    expect(client.duplicates[0]!.commands).toEqual([['connect'], ['disconnect']]);
  });

  it('that is not there in time is closed, and tries no more', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    client.prepare = (duplicate) => {
      duplicate.answer = () => new Promise(() => undefined);
    };
    const opening = watch(new IoredisPort(client).dedicated(PATIENCE));
    await vi.advanceTimersByTimeAsync(PATIENCE - 1);
    expect(opening.settled).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(opening.error?.message).toContain('within 700 ms');
    expect(client.duplicates[0]!.commands).toEqual([['connect'], ['disconnect']]);
  });

  it('does not end the process by an error that nobody listens to', async () => {
    const port = new IoredisPort(client);
    port.subscribe(events, false);
    await port.dedicated(PATIENCE);
    new IoredisPort(cluster()).subscribe(events, true);
    for (const duplicate of client.duplicates) {
      expect(() => duplicate.emit('error', new Error('gone'))).not.toThrow();
    }
  });
});

describe('the client itself', () => {
  it.each(['alone', 'in a cluster'])(
    'is used for nothing else and never changed, %s',
    async (how) => {
      const [proxy, uses] = watched(how === 'alone' ? client : cluster());
      const [options, optionUses] = watched({ redisOptions: {}, keyPrefix: 'app:' });
      client.options = options;
      client.answer = () => ['0', []];
      client.primaries.forEach((node) => (node.answer = () => ['0', []]));
      const port = new IoredisPort(proxy);
      await port.eval('return KEYS[1]', ['k'], []);
      await port.evalsha('return KEYS[1]', ['k'], []);
      await port.info();
      await pagesOf(port, '*');
      const subscriber = port.subscribe(events, true);
      await subscriber.subscribe('k');
      await subscriber.unsubscribe('k');
      subscriber.close();
      (await port.dedicated(PATIENCE)).close();

      expect([...uses.written, ...optionUses.written]).toEqual([]);
      const touched = client.commands.map(([command]) => command);
      expect(touched.filter((command) => command !== 'scan' && command !== 'nodes')).toEqual([]);
      expect([...uses.read]).not.toEqual(
        expect.arrayContaining([
          expect.stringMatching(/^(on|once|connect|disconnect|quit|s?subscribe)$/),
        ]),
      );
      expect(client.emitter.eventNames()).toEqual([]);
    },
  );
});
