import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LockDriverError } from '../../../lib/errors/lock-driver.error.js';
import { ioredis5, ioredis6, nodeRedis6 } from '../../support/redis/client-libraries.js';
import { eventually } from '../../support/redis/eventually.js';
import { OpenLocks, type OpenLocksOptions } from '../../support/redis/open-locks.js';
import { promote, startReplica } from '../../support/redis/redis-replica.js';
import { RedisServer } from '../../support/redis/redis-server.js';
import { callOf } from '../../support/redis/script-calls.js';
import { TcpProxy } from '../../support/redis/tcp-proxy.js';
import { inTime } from '../../support/redis/timed.js';
import { hasRedisProgram, redisProgram } from '../../support/redis/use-redis.js';

describe.skipIf(!hasRedisProgram).concurrent.each([ioredis5, ioredis6, nodeRedis6])(
  'locks that a replica must have, with $name',
  { timeout: 60_000 },
  (library) => {
    let server: RedisServer;
    let replica: RedisServer;
    let proxy: TcpProxy;
    let mine: OpenLocks;

    beforeEach(async () => {
      server = await RedisServer.start(redisProgram);
      replica = await startReplica(redisProgram, server);
      proxy = await TcpProxy.start(server);
      mine = await open();
    });
    afterEach(async () => {
      replica.resume();
      await mine[Symbol.asyncDispose]();
      await proxy.stop();
      await replica.stop();
      await server.stop();
    });

    const open = (options: OpenLocksOptions = {}): Promise<OpenLocks> => {
      const redis = { replicas: { min: 1, timeout: 150 } };
      return OpenLocks.start(library.standalone(proxy), { redis, ...options });
    };

    it.sequential('are there when they are granted, and when they are renewed', async () => {
      const lock = await mine.locks.acquire('a', { ttl: '3s' });
      await expect(replica.command('EXISTS', 'lock:a')).resolves.toBe(1);
      await eventually('it is renewed', () => mine.count('renewed') > 2);
      expect(lock.held).toBe(true);
      expect(proxy.count('WAIT')).toBeGreaterThan(3);
      await expect(lock.release()).resolves.toBe(true);
    });

    it.sequential('are not granted without it, and given back', async () => {
      await replica.pause();
      const waiting = mine.locks.acquire('a', { wait: 300 });
      await expect(inTime(waiting)).rejects.toThrow(LockDriverError);
      const trying = mine.locks.tryAcquire('b');
      await expect(inTime(trying)).rejects.toThrow(/0 of the 1 replicas/);
      await expect(trying).rejects.toThrow(LockDriverError);
      await using other = await OpenLocks.start(library.standalone(server));
      for (const key of ['a', 'b']) {
        const lock = await inTime(other.locks.acquire(key, { wait: '20s' }), 10_000);
        await lock.release();
      }
      replica.resume();
      const lock = await inTime(mine.locks.acquire('a', { wait: '20s' }), 20_000);
      expect(lock.held).toBe(true);
    });

    it.sequential('are lost at their deadline if it does not confirm their renewal', async () => {
      const lock = await mine.locks.acquire('a', { ttl: '1s' });
      const { remaining } = lock;
      await replica.pause();
      const from = performance.now();
      await eventually('it is lost', () => lock.signal.aborted);
      expect(performance.now() - from).toBeLessThan(remaining + 1_000);
      expect(lock.signal.reason).toMatchObject({ reason: 'expired' });
      expect(mine.count('renewed')).toBe(0);
    });

    it.sequential('are not granted if the connection is lost before it has confirmed', async () => {
      using hold = proxy.holdReplies('WAIT');
      const granting = mine.locks.acquire('a', { wait: '20s' });
      await hold.first;
      const first = await mine.locks.inspect('a');
      hold.release();
      proxy.cutAll();
      const lock = await inTime(granting, 20_000);
      expect(lock.owner).not.toBe(first?.owner);
      expect(lock.held).toBe(true);
      await expect(mine.locks.inspect('a')).resolves.toMatchObject({ owner: lock.owner });
    });

    it.sequential.each(['cutBefore', 'cutAfter'] as const)(
      'are granted by another try if the connection is lost: %s',
      async (when) => {
        for (const match of [callOf('acquire'), 'WAIT']) {
          const cut = proxy[when](match);
          const lock = await inTime(mine.locks.acquire('a', { wait: '20s' }), 20_000);
          await cut;
          await expect(mine.locks.inspect('a')).resolves.toMatchObject({ owner: lock.owner });
          await expect(lock.release()).resolves.toBe(true);
        }
      },
    );

    it.sequential('stay exclusive after a failover to it', async () => {
      const lock = await mine.locks.acquire('a');
      await server.kill();
      await promote(replica);
      await using other = await OpenLocks.start(library.standalone(replica));
      expect(lock.held).toBe(true);
      await expect(other.locks.tryAcquire('a')).resolves.toBeNull();
      await expect(other.locks.inspect('a')).resolves.toMatchObject({ owner: lock.owner });
      await expect(other.locks.tryAcquire('b')).resolves.not.toBeNull();
    });

    it.sequential('are asked for by many at once with few commands', async () => {
      proxy.resetCounts();
      const keys = Array.from({ length: 60 }, (_, i) => `many:${i}`);
      await Promise.all(keys.map((key) => mine.locks.acquire(key)));
      expect(proxy.count('WAIT')).toBeLessThanOrEqual(keys.length / 4);
      await expect(replica.command('DBSIZE')).resolves.toBeGreaterThanOrEqual(keys.length);
    });
  },
);
