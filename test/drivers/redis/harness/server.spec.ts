import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { RawRedis } from '../../../support/redis/raw-redis.js';
import {
  detach,
  isPrimary,
  promote,
  startReplica,
  untilReplicated,
} from '../../../support/redis/redis-replica.js';
import { RedisServer } from '../../../support/redis/redis-server.js';
import { hasRedisProgram, redisProgram } from '../../../support/redis/use-redis.js';

describe.skipIf(!hasRedisProgram)('a Redis server for tests', () => {
  it('answers once it is started', async () => {
    await using server = await RedisServer.start(redisProgram);
    await expect(server.command('PING')).resolves.toBe('PONG');
  });

  it('is one of several, each on a port of its own', async () => {
    await using one = await RedisServer.start(redisProgram);
    await using other = await RedisServer.start(redisProgram);
    expect(one.port).not.toBe(other.port);
    await one.command('SET', 'a', 1);
    await expect(other.command('GET', 'a')).resolves.toBeNull();
  });

  it('is gone when it is stopped, with its process and its folder', async () => {
    const server = await RedisServer.start(redisProgram);
    const { pid } = server;
    const [, folder] = (await server.command('CONFIG', 'GET', 'dir')) as [string, string];
    expect(existsSync(folder)).toBe(true);
    await server.stop();
    expect(() => process.kill(pid, 0)).toThrow(/ESRCH/);
    expect(existsSync(folder)).toBe(false);
    await expect(server.command('PING')).rejects.toThrow(/ECONNREFUSED/);
  });

  it('says why it does not start', async () => {
    const starting = RedisServer.start(redisProgram, { args: ['--no-such-option', '1'] });
    await expect(starting).rejects.toThrow(/redis-server ended with 1: .*no-such-option/s);
  });

  it('restarts from what it saved, without what came after', async () => {
    await using server = await RedisServer.start(redisProgram);
    const { port, pid } = server;
    await server.command('SET', 'a', 'old');
    await server.command('SAVE');
    await server.command('SET', 'a', 'new');
    await server.restart();
    expect(server.port).toBe(port);
    expect(server.pid).not.toBe(pid);
    await expect(server.command('GET', 'a')).resolves.toBe('old');
  });

  it('restarts with nothing, if its data are to be lost', async () => {
    await using server = await RedisServer.start(redisProgram, { aof: true });
    await server.command('SET', 'a', 1);
    await server.command('SAVE');
    await server.restart({ data: 'lost' });
    await expect(server.command('GET', 'a')).resolves.toBeNull();
  });

  it('restarts with everything from its append-only file', async () => {
    await using server = await RedisServer.start(redisProgram, { aof: true });
    await server.command('SET', 'a', 1);
    await server.kill();
    expect(server.isRunning).toBe(false);
    await server.restart();
    await expect(server.command('GET', 'a')).resolves.toBe('1');
  });

  it('answers nothing while it is paused, and everything when it goes on', async () => {
    await using server = await RedisServer.start(redisProgram);
    await using connection = await RawRedis.open(server);
    await server.pause();
    const answers: unknown[] = [];
    const answer = connection.send('PING').then((pong) => answers.push(pong));
    // A server that ran would have answered in the time that another one takes to start.
    await using another = await RedisServer.start(redisProgram);
    await another.command('PING');
    expect(answers).toEqual([]);
    server.resume();
    await answer;
    expect(answers).toEqual(['PONG']);
  });

  it('can be stopped while it is paused', async () => {
    const server = await RedisServer.start(redisProgram);
    await server.pause();
    await server.stop();
    expect(server.isRunning).toBe(false);
  });

  it('has a replica that follows it, takes no writes, and can be promoted', async () => {
    await using primary = await RedisServer.start(redisProgram);
    await using replica = await startReplica(redisProgram, primary);
    await primary.command('SET', 'a', 1);
    await untilReplicated(primary, replica);
    await expect(replica.command('GET', 'a')).resolves.toBe('1');
    await expect(replica.command('SET', 'a', 2)).rejects.toThrow(/READONLY/);
    await promote(replica);
    await expect(isPrimary(replica)).resolves.toBe(true);
    await expect(replica.command('SET', 'a', 2)).resolves.toBe('OK');
  });

  it('has a replica that knows nothing new once it is detached', async () => {
    await using primary = await RedisServer.start(redisProgram);
    await using replica = await startReplica(redisProgram, primary);
    await detach(replica);
    await primary.command('SET', 'a', 1);
    await promote(replica);
    await expect(replica.command('GET', 'a')).resolves.toBeNull();
  });
});
