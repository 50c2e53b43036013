import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CLIENT_LIBRARIES } from '../../../support/redis/client-libraries.js';
import { eventually } from '../../../support/redis/eventually.js';
import { RawRedis } from '../../../support/redis/raw-redis.js';
import { startReplica } from '../../../support/redis/redis-replica.js';
import { RedisServer } from '../../../support/redis/redis-server.js';
import { TcpProxy } from '../../../support/redis/tcp-proxy.js';
import { hasRedisProgram, redisProgram } from '../../../support/redis/use-redis.js';

describe.skipIf(!hasRedisProgram)('a proxy for tests', () => {
  let server: RedisServer;
  let proxy: TcpProxy;
  let client: RawRedis;

  beforeEach(async () => {
    server = await RedisServer.start(redisProgram);
    proxy = await TcpProxy.start(server);
    client = await RawRedis.open(proxy);
  });
  afterEach(async () => {
    await client.close();
    await proxy.stop();
    await server.stop();
  });

  /** Whether something settles before a whole round trip through the proxy's server is over. */
  function settles(answer: Promise<unknown>): Promise<boolean> {
    const roundTrip = server.command('PING').then(() => false);
    return Promise.race([answer.then(() => true), roundTrip]);
  }

  it.each(CLIENT_LIBRARIES)('passes and counts the commands of $name', async (library) => {
    await using open = await library.standalone(proxy).connect();
    proxy.resetCounts();
    await Promise.all(Array.from({ length: 10 }, (_, i) => open.command('set', `${i}`, 'x')));
    await expect(open.command('GET', '7')).resolves.toBe('x');
    expect(proxy.counts).toEqual(
      new Map([
        ['SET', 10],
        ['GET', 1],
      ]),
    );
    expect(proxy.count()).toBe(11);
  });

  it('cuts before a command reaches the server, and those before it have their answers', async () => {
    const cut = proxy.cutBefore(({ name, args }) => name === 'SET' && args[0] === 'b');
    const answers = ['a', 'b', 'c'].map((key) => client.send('SET', key, 1));
    await expect(Promise.allSettled(answers)).resolves.toMatchObject([
      { status: 'fulfilled', value: 'OK' },
      { status: 'rejected' },
      { status: 'rejected' },
    ]);
    await expect(cut).resolves.toEqual({ name: 'SET', args: ['b', '1'] });
    await expect(server.command('MGET', 'a', 'b', 'c')).resolves.toEqual(['1', null, null]);
    expect(proxy.count('SET')).toBe(1);
  });

  it('cuts after a command is applied, before its answer is back', async () => {
    const cut = proxy.cutAfter('incr');
    await expect(client.send('INCR', 'a')).rejects.toThrow('closed');
    await expect(cut).resolves.toEqual({ name: 'INCR', args: ['a'] });
    await expect(server.command('GET', 'a')).resolves.toBe('1');
  });

  it('spares a command that the server refuses, and cuts after the next', async () => {
    const cut = proxy.cutAfter('INCR');
    await server.command('SET', 'text', 'x');
    await expect(client.send('INCR', 'text')).rejects.toThrow('not an integer');
    await expect(client.send('INCR', 'a')).rejects.toThrow('closed');
    await expect(cut).resolves.toEqual({ name: 'INCR', args: ['a'] });
  });

  it('cuts once for each time it is told to', async () => {
    void proxy.cutBefore('PING');
    await expect(client.send('PING')).rejects.toThrow('closed');
    await using again = await RawRedis.open(proxy);
    await expect(again.send('PING')).resolves.toBe('PONG');
  });

  it('cuts all connections', async () => {
    await client.send('PING');
    await using other = await RawRedis.open(proxy);
    await other.send('PING');
    expect(proxy.connections).toBe(2);
    const waiting = client.send('BLPOP', 'nothing', 0);
    await proxy.next(({ name }) => name === 'BLPOP');
    proxy.cutAll();
    await expect(waiting).rejects.toThrow('closed');
    await expect(other.send('PING')).rejects.toThrow('closed');
    expect(proxy.connections).toBe(0);
  });

  it('answers in the place of the server, in turn', async () => {
    const answered = proxy.answer('SET', 'OOM command not allowed');
    const answers = [client.send('PING'), client.send('SET', 'a', 1), client.send('GET', 'a')];
    await expect(Promise.allSettled(answers)).resolves.toMatchObject([
      { value: 'PONG' },
      { reason: new Error('OOM command not allowed') },
      { value: null },
    ]);
    await answered;
  });

  it('holds a reply whose command is applied', async () => {
    using hold = proxy.holdReplies('SET');
    const answer = client.send('SET', 'a', 1);
    await hold.first;
    await expect(server.command('GET', 'a')).resolves.toBe('1');
    expect(await settles(answer)).toBe(false);
    hold.release();
    await expect(answer).resolves.toBe('OK');
    await expect(client.send('SET', 'a', 2)).resolves.toBe('OK');
  });

  it('holds a command, which is applied late, even if the client is gone', async () => {
    using hold = proxy.holdCommands('SET');
    const answer = client.send('SET', 'a', 1);
    await hold.first;
    await expect(server.command('GET', 'a')).resolves.toBeNull();
    await client.close();
    await expect(answer).rejects.toThrow('closed');
    hold.release();
    await eventually('it is applied', async () => (await server.command('GET', 'a')) === '1');
    expect(hold.caught).toHaveLength(1);
  });

  it('loses what it holds if it is cut', async () => {
    using hold = proxy.holdCommands('SET');
    const answer = client.send('SET', 'a', 1);
    await hold.first;
    proxy.cutAll();
    hold.release();
    await expect(answer).rejects.toThrow('closed');
    await expect(server.command('GET', 'a')).resolves.toBeNull();
    expect(proxy.count('SET')).toBe(0);
  });

  it('delays replies, and keeps their order', async () => {
    proxy.delayReplies(50);
    const start = performance.now();
    const order: number[] = [];
    await Promise.all([1, 2, 3].map((i) => client.send('ECHO', i).then(() => order.push(i))));
    expect(performance.now() - start).toBeGreaterThan(49);
    expect(order).toEqual([1, 2, 3]);
  });

  it('is a black hole until it is healed', async () => {
    await client.send('PING');
    proxy.blackHole();
    await using late = await RawRedis.open(proxy);
    const answers = Promise.all([client.send('INCR', 'a'), late.send('INCR', 'a')]);
    expect(await settles(answers)).toBe(false);
    await expect(server.command('GET', 'a')).resolves.toBeNull();
    proxy.heal();
    expect((await answers).map(Number).toSorted((a, b) => a - b)).toEqual([1, 2]);
  });

  it('refuses connections until it accepts them again, and keeps those it has', async () => {
    await client.send('PING');
    proxy.refuse();
    await expect(RawRedis.open(proxy)).rejects.toThrow('ECONNREFUSED');
    await expect(client.send('PING')).resolves.toBe('PONG');
    await proxy.accept();
    await using other = await RawRedis.open(proxy);
    await expect(other.send('PING')).resolves.toBe('PONG');
  });

  it('tells messages of channels from answers', async () => {
    for (const library of CLIENT_LIBRARIES) {
      await using subscriber = await library.standalone(proxy).connect();
      const subscribed = proxy.next('SUBSCRIBE');
      const heard = listen(subscriber.client, 'news');
      await subscribed;
      await eventually(
        'it hears',
        async () => (await server.command('PUBLISH', 'news', 'x')) === 1,
      );
      await expect(heard).resolves.toBe('x');
      const cut = proxy.cutAfter('PING');
      await using other = await library.standalone(proxy).connect();
      await other.command('PING').catch(() => undefined);
      await cut;
    }
  });

  it('stands between a primary and its replica', async () => {
    await using replica = await startReplica(redisProgram, server, { via: proxy });
    proxy.blackHole();
    await using direct = await RawRedis.open(server);
    await direct.send('SET', 'a', 1);
    await expect(direct.send('WAIT', 1, 50)).resolves.toBe(0);
    await expect(replica.command('GET', 'a')).resolves.toBeNull();
    proxy.heal();
    await eventually('it has the change', async () => (await replica.command('GET', 'a')) === '1');
  });
});

type Subscriber = (typeof CLIENT_LIBRARIES)[number] extends infer Library
  ? Library extends { standalone(...args: never[]): { client: infer Client } }
    ? Client
    : never
  : never;

function listen(client: Subscriber, channel: string): Promise<string> {
  return new Promise((resolve) => {
    if ('sendCommand' in client && 'isOpen' in client) {
      void client.subscribe(channel, (message: string) => resolve(message));
    } else {
      client.once('message', (_: string, message: string) => resolve(message));
      void client.subscribe(channel);
    }
  });
}
