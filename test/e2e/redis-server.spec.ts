import { existsSync } from 'node:fs';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { RedisServer } from '../support/redis-server.js';

const source = inject('redis');
const program = source.kind === 'program' ? source.path : '';
const clients: Redis[] = [];

function connect(server: RedisServer): Redis {
  const client = new Redis(server.url, { lazyConnect: true, retryStrategy: () => null });
  client.on('error', () => undefined);
  clients.push(client);
  return client;
}

afterEach(() => {
  clients.splice(0).forEach((client) => client.disconnect());
});

describe.skipIf(source.kind !== 'program')('a Redis server for tests', () => {
  it('answers once it is started', async () => {
    await using server = await RedisServer.start(program);
    await expect(connect(server).ping()).resolves.toBe('PONG');
  });

  it('is one of several, each on a port of its own', async () => {
    await using one = await RedisServer.start(program);
    await using other = await RedisServer.start(program);
    expect(one.port).not.toBe(other.port);
    await connect(one).set('a', '1');
    await expect(connect(other).get('a')).resolves.toBeNull();
  });

  it('is a replica if its arguments say so', async () => {
    await using primary = await RedisServer.start(program);
    const args = ['--replicaof', primary.host, `${primary.port}`];
    await using replica = await RedisServer.start(program, { args });
    await expect(connect(replica).role()).resolves.toContain('slave');
  });

  it('is gone when it is stopped, with its process and its folder', async () => {
    const server = await RedisServer.start(program);
    const client = connect(server);
    const [, folder] = (await client.config('GET', 'dir')) as [string, string];
    expect(existsSync(folder)).toBe(true);
    client.disconnect();
    await server.stop();
    expect(() => process.kill(server.pid, 0)).toThrow(/ESRCH/);
    expect(existsSync(folder)).toBe(false);
    await expect(connect(server).ping()).rejects.toThrow(/closed|refused|retries/i);
  });

  it('says why it does not start', async () => {
    const starting = RedisServer.start(program, { args: ['--no-such-option', '1'] });
    await expect(starting).rejects.toThrow(/redis-server ended with 1: .*no-such-option/s);
  });
});
