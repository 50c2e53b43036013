import { describe, expect, it } from 'vitest';
import { ioredis5, ioredis6, nodeRedis6 } from '../../../support/redis/client-libraries.js';
import { eventually } from '../../../support/redis/eventually.js';
import { OpenLocks } from '../../../support/redis/open-locks.js';
import { RedisServer } from '../../../support/redis/redis-server.js';
import { inTime } from '../../../support/redis/timed.js';
import { hasRedisProgram, redisProgram } from '../../../support/redis/use-redis.js';

describe.skipIf(!hasRedisProgram).concurrent('an old snapshot', { timeout: 30_000 }, () => {
  it.each([ioredis5, ioredis6, nodeRedis6])(
    'makes no token smaller, with $name',
    async (library) => {
      await using server = await RedisServer.start(redisProgram);
      await using mine = await OpenLocks.start(library.standalone(server));
      const tokens: bigint[] = [];
      const take = async (): Promise<void> => {
        await using lock = await mine.locks.acquire('a');
        tokens.push(lock.fencingToken);
      };
      await take();
      await server.command('SAVE');
      for (let i = 0; i < 20; i++) {
        await take();
      }
      await server.restart();
      await expect(server.command('EXISTS', 'lock:a')).resolves.toBe(1);
      await take();
      await take();
      expect(tokens).toEqual([...new Set(tokens)].toSorted((a, b) => (a < b ? -1 : 1)));
    },
  );

  it('ends a lock that it gives to somebody else, which is granted again in time', async () => {
    await using server = await RedisServer.start(redisProgram);
    await using mine = await OpenLocks.start(ioredis5.standalone(server));
    await using other = await OpenLocks.start(nodeRedis6.standalone(server));
    const first = await mine.locks.acquire('a', { ttl: '2s' });
    await server.command('SAVE');
    await first.release();
    const second = await other.locks.acquire('a', { ttl: '1s' });
    await server.restart();
    await eventually('the second is lost', () => second.signal.aborted);
    const third = await inTime(mine.locks.acquire('a', { wait: '20s' }), 20_000);
    expect(third.fencingToken).toBeGreaterThan(second.fencingToken);
  });
});
