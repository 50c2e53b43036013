import { describe, expect, it } from 'vitest';
import { LockDriverError } from '../../../../lib/errors/lock-driver.error.js';
import { ioredis5, ioredis6, nodeRedis6 } from '../../../support/redis/client-libraries.js';
import { eventually } from '../../../support/redis/eventually.js';
import { OpenLocks } from '../../../support/redis/open-locks.js';
import { RawRedis } from '../../../support/redis/raw-redis.js';
import { startReplica } from '../../../support/redis/redis-replica.js';
import { RedisServer } from '../../../support/redis/redis-server.js';
import { TcpProxy } from '../../../support/redis/tcp-proxy.js';
import { inTime } from '../../../support/redis/timed.js';
import { hasRedisProgram, redisProgram } from '../../../support/redis/use-redis.js';

const LIBRARIES = [ioredis5, ioredis6, nodeRedis6] as const;
const LOADING = 'LOADING Redis is loading the dataset in memory';

describe.skipIf(!hasRedisProgram).concurrent('a bad day to boot', { timeout: 30_000 }, () => {
  it.each(LIBRARIES)('refuses a replica, with $name', async (library) => {
    await using server = await RedisServer.start(redisProgram);
    await using replica = await startReplica(redisProgram, server);
    const booting = OpenLocks.start(library.standalone(replica));
    await expect(booting).rejects.toThrow(LockDriverError);
    await expect(booting).rejects.toThrow(
      new RegExp(
        `is a replica, of 127.0.0.1:${server.port}, .* give the driver a client of the primary`,
      ),
    );
  });

  it.each(LIBRARIES)('waits for a server that is loading, with $name', async (library) => {
    await using server = await RedisServer.start(redisProgram);
    await using proxy = await TcpProxy.start(server);
    const client = await library.standalone(proxy).connect();
    const refused = [1, 2, 3].map(() => proxy.answer('EVAL', LOADING));
    await using mine = OpenLocks.over(client);
    await mine.locks.onModuleInit();
    await Promise.all(refused);
    await expect(mine.locks.tryAcquire('a')).resolves.not.toBeNull();
  });

  it.each(LIBRARIES)(
    'gives up on a server that loads for too long, with $name',
    async (library) => {
      await using server = await RedisServer.start(redisProgram);
      await using proxy = await TcpProxy.start(server);
      await using client = await library.standalone(proxy).connect();
      for (let i = 0; i < 10; i++) {
        void proxy.answer('EVAL', LOADING);
      }
      const booting = OpenLocks.over(client, {
        redis: { answerTimeout: 300 },
      }).locks.onModuleInit();
      await expect(inTime(booting)).rejects.toThrow(LockDriverError);
    },
  );

  it.each(LIBRARIES)('gives up on a server that does not answer, with $name', async (library) => {
    await using server = await RedisServer.start(redisProgram);
    await using proxy = await TcpProxy.start(server);
    await using client = await library.standalone(proxy).connect();
    const { locks } = OpenLocks.over(client, { redis: { answerTimeout: 300 } });
    proxy.blackHole();
    const booting = locks.onModuleInit();
    await expect(inTime(booting)).rejects.toThrow('Redis has not answered connect within 300 ms');
    await expect(booting).rejects.toThrow(LockDriverError);
  });

  it.each([ioredis5, ioredis6])('says that a password is missing, with $name', async (library) => {
    await using server = await RedisServer.start(redisProgram);
    await server.command('CONFIG', 'SET', 'requirepass', 'secret');
    await using client = library.standalone(server, { maxRetriesPerRequest: 1 });
    const booting = OpenLocks.over(client).locks.onModuleInit();
    await expect(inTime(booting)).rejects.toThrow(/NOAUTH.*give the client a password/);
    await expect(booting).rejects.toThrow(LockDriverError);
  });

  it.each([ioredis5, ioredis6])('says that the password is wrong, with $name', async (library) => {
    await using server = await RedisServer.start(redisProgram);
    await server.command('CONFIG', 'SET', 'requirepass', 'secret');
    const address = { url: server.url, host: server.host, port: server.port, password: 'guess' };
    await using client = library.standalone(address, { maxRetriesPerRequest: 1 });
    const booting = OpenLocks.over(client).locks.onModuleInit();
    await expect(inTime(booting)).rejects.toThrow(/WRONGPASS|NOAUTH/);
    await expect(booting).rejects.toThrow(LockDriverError);
  });

  it('says that a client of node-redis is not connected', async () => {
    await using server = await RedisServer.start(redisProgram);
    const { locks } = OpenLocks.over(nodeRedis6.standalone(server));
    await expect(locks.onModuleInit()).rejects.toThrow('call `await client.connect()`');
  });

  it.each(LIBRARIES)('says at run time that a password is missing, with $name', async (library) => {
    await using server = await RedisServer.start(redisProgram);
    await using mine = await OpenLocks.start(library.standalone(server));
    const lock = await mine.locks.acquire('a', { ttl: 400 });
    await using admin = await RawRedis.open(server);
    await admin.send('CONFIG', 'SET', 'requirepass', 'secret');
    await admin.send('CLIENT', 'KILL', 'TYPE', 'normal');
    await expect(inTime(mine.locks.acquire('b', { wait: 300 }))).rejects.toThrow(LockDriverError);
    await eventually('it is lost', () => lock.signal.aborted);
    expect(lock.signal.reason).toMatchObject({ reason: 'expired' });
  });
});
