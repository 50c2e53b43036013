import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ioredis5, ioredis6, nodeRedis6 } from '../../../support/redis/client-libraries.js';
import { eventually } from '../../../support/redis/eventually.js';
import { OpenLocks } from '../../../support/redis/open-locks.js';
import { RedisServer } from '../../../support/redis/redis-server.js';
import { TcpProxy } from '../../../support/redis/tcp-proxy.js';
import { hasRedisProgram, redisProgram } from '../../../support/redis/use-redis.js';

describe.skipIf(!hasRedisProgram)('the connection for notices', { timeout: 60_000 }, () => {
  let server: RedisServer;

  beforeAll(async () => {
    server = await RedisServer.start(redisProgram);
  });
  afterAll(() => server.stop());

  // They take their time, all of them at once.
  it.concurrent.each([ioredis5, ioredis6, nodeRedis6])(
    'is opened when somebody waits, and closed when nobody has for a while, with $name',
    async (library) => {
      const key = library.name;
      await using proxy = await TcpProxy.start(server);
      await using mine = await OpenLocks.start(library.standalone(proxy));
      await using other = await OpenLocks.start(library.standalone(server));
      const lock = await other.locks.acquire(key);
      await expect(mine.locks.tryAcquire(key)).resolves.toBeNull();
      await expect(mine.locks.tryAcquire(key)).resolves.toBeNull();
      expect(proxy.connections).toBe(1);
      const waiting = [1, 2, 3].map(() => mine.locks.acquire(key, { wait: '30s' }));
      await eventually('it listens', () => proxy.count('SUBSCRIBE') > 0);
      expect(proxy.connections).toBe(2);
      await lock.release();
      for (const next of waiting) {
        await (await next).release();
      }
      expect(proxy.connections).toBe(2);
      await eventually('it is closed', () => proxy.connections === 1);
      expect(proxy.count('SUBSCRIBE')).toBe(1);

      const again = await other.locks.acquire(key);
      const late = mine.locks.acquire(key, { wait: '30s' });
      await eventually('it listens again', () => proxy.count('SUBSCRIBE') === 2);
      await again.release();
      await (await late).release();
    },
  );
});
