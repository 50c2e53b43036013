import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { NodeRedisPort } from '../../../../lib/drivers/redis/node-redis.port.js';
import type { ScriptCall, SubscriberEvents } from '../../../../lib/drivers/redis/redis-port.js';
import { watch } from '../../../support/outcome.js';
import { FakeNodeRedis, FakeNodeRedisCluster } from './fake-node-redis.js';
import { FakeServer } from './fake-server.js';
import { watched } from './watched-client.js';

/** For a connection to be there, in milliseconds. */
const PATIENCE = 700;

const events: SubscriberEvents = {
  message: vi.fn<(channel: string) => void>(),
  restored: vi.fn<() => void>(),
  ended: vi.fn<() => void>(),
};

let client: FakeNodeRedis;

beforeEach(() => {
  client = new FakeNodeRedis();
});

/** A cluster of two primaries. */
function cluster(): FakeNodeRedisCluster {
  const whole = new FakeNodeRedisCluster();
  for (const name of ['first', 'second']) {
    const server = new FakeServer();
    server.info = () => name;
    server.pages = [[`${name} a`], [`${name} b`]];
    whole.nodes.push(new FakeNodeRedis(server));
  }
  return whole;
}

async function pagesOf(port: NodeRedisPort, pattern: string): Promise<(readonly string[])[]> {
  const pages: (readonly string[])[] = [];
  for await (const page of port.scan(pattern)) {
    pages.push(page);
  }
  return pages;
}

describe('a client of node-redis', () => {
  it('is told to be a cluster by its primaries', () => {
    expect(new NodeRedisPort(client).isCluster).toBe(false);
    expect(new NodeRedisPort(cluster()).isCluster).toBe(true);
  });

  it('cannot be used before it is connected, and this is looked at each time', () => {
    const port = new NodeRedisPort(client);
    expect(port.complaint).toBeUndefined();
    client.isOpen = false;
    expect(port.complaint).toContain('await client.connect()');
    client.isOpen = true;
    expect(port.complaint).toBeUndefined();
  });

  it('is given scripts with keys and arguments of their own', async () => {
    const port = new NodeRedisPort(client);
    client.server.run = (call) => Promise.resolve(call);
    const [keys, args] = [Object.freeze(['k', 'l']), Object.freeze(['1'])];
    const byDigest = await port.evalsha('abc', keys, args);
    expect(byDigest).toEqual({ by: 'evalsha', script: 'abc', keys, args });
    expect((byDigest as ScriptCall).keys).not.toBe(keys);
    const bySource = await port.eval('return', keys, args);
    expect(bySource).toEqual({ by: 'eval', script: 'return', keys, args });
  });

  it('tells of its server, and of all primaries of a cluster', async () => {
    client.server.info = () => 'only';
    await expect(new NodeRedisPort(client).info()).resolves.toEqual(['only']);
    await expect(new NodeRedisPort(cluster()).info()).resolves.toEqual(['first', 'second']);
  });

  it('scans page by page', async () => {
    client.server.pages = [['a', 'b'], [], ['c']];
    await expect(pagesOf(new NodeRedisPort(client), 'lock:*')).resolves.toEqual([
      ['a', 'b'],
      [],
      ['c'],
    ]);
    expect(client.commands).toEqual([['scanIterator', { MATCH: 'lock:*', COUNT: 1000 }]]);
  });

  it('scans all primaries of a cluster', async () => {
    await expect(pagesOf(new NodeRedisPort(cluster()), '*')).resolves.toEqual([
      ['first a'],
      ['first b'],
      ['second a'],
      ['second b'],
    ]);
  });
});

describe('a duplicate of a client of node-redis', () => {
  it('that listens names channels in full, and waits for its connection', () => {
    new NodeRedisPort(client).subscribe(events, false);
    expect(client.duplicates.map(({ overrides }) => overrides)).toEqual([
      { keyPrefix: undefined, disableOfflineQueue: false },
    ]);
    expect(Object.keys(client.duplicates[0]!.overrides)).toContain('keyPrefix');
  });

  it('that listens in a cluster connects to no more nodes than it has to', () => {
    const whole = cluster();
    new NodeRedisPort(whole).subscribe(events, true);
    expect(whole.duplicates.map(({ overrides }) => overrides)).toEqual([
      { keyPrefix: undefined, disableOfflineQueue: false, minimizeConnections: true },
    ]);
  });

  it('for scripts that are waited for sends nothing twice, and keeps the prefix', async () => {
    const connection = await new NodeRedisPort(client).dedicated(PATIENCE);
    expect(client.duplicates.map(({ overrides }) => overrides)).toEqual([
      { disableOfflineQueue: true },
    ]);
    expect(client.duplicates[0]!.commands).toEqual([['connect']]);
    connection.close();
    expect(client.duplicates[0]!.commands).toEqual([['connect'], ['destroy']]);
  });

  it('that cannot connect is closed', async () => {
    client.prepare = (duplicate) => {
      duplicate.answer = (command) => {
        throw new Error(command === 'connect' ? 'ECONNREFUSED' : 'The client is closed');
      };
    };
    await expect(new NodeRedisPort(client).dedicated(PATIENCE)).rejects.toThrow('ECONNREFUSED');
    expect(client.duplicates[0]!.commands).toEqual([['connect'], ['destroy']]);
  });

  it('that is not there in time is closed, and tries no more', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    client.prepare = (duplicate) => {
      duplicate.answer = () => new Promise(() => undefined);
    };
    const opening = watch(new NodeRedisPort(client).dedicated(PATIENCE));
    await vi.advanceTimersByTimeAsync(PATIENCE - 1);
    expect(opening.settled).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(opening.error?.message).toContain('within 700 ms');
    expect(client.duplicates[0]!.commands).toEqual([['connect'], ['destroy']]);
  });

  it('does not end the process by an error that nobody listens to', async () => {
    const port = new NodeRedisPort(client);
    port.subscribe(events, false);
    await port.dedicated(PATIENCE);
    for (const duplicate of client.duplicates) {
      expect(() => duplicate.emit('error', new Error('gone'))).not.toThrow();
    }
  });
});

describe('the client itself', () => {
  it.each(['alone', 'in a cluster'])(
    'is used for nothing else and never changed, %s',
    async (how) => {
      const target = how === 'alone' ? client : cluster();
      const [proxy, uses] = watched(target);
      const port = new NodeRedisPort(proxy);
      await port.eval('return KEYS[1]', ['k'], []);
      await port.evalsha('return KEYS[1]', ['k'], []);
      await port.info();
      await pagesOf(port, '*');
      const subscriber = port.subscribe(events, true);
      await subscriber.subscribe('k');
      await subscriber.unsubscribe('k');
      subscriber.close();
      (await port.dedicated(PATIENCE)).close();

      expect(uses.written).toEqual([]);
      const touched = target.commands.map(([command]) => command);
      expect(touched.filter((command) => command !== 'scanIterator')).toEqual([]);
      expect([...uses.read]).not.toEqual(
        expect.arrayContaining([
          expect.stringMatching(/^(on|once|connect|disconnect|quit|destroy|close|s?[sS]ubscribe)$/),
        ]),
      );
      expect(target.emitter.eventNames()).toEqual([]);
    },
  );
});
