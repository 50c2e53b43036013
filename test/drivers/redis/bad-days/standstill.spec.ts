import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LockDriverError } from '../../../../lib/errors/lock-driver.error.js';
import { ioredis5, ioredis6, nodeRedis6 } from '../../../support/redis/client-libraries.js';
import { eventually } from '../../../support/redis/eventually.js';
import { OpenLocks } from '../../../support/redis/open-locks.js';
import { RawRedis } from '../../../support/redis/raw-redis.js';
import { RedisServer } from '../../../support/redis/redis-server.js';
import { inTime } from '../../../support/redis/timed.js';
import { hasRedisProgram, redisProgram } from '../../../support/redis/use-redis.js';

const LIBRARIES = [ioredis5, ioredis6, nodeRedis6] as const;

describe.skipIf(!hasRedisProgram).concurrent.each(LIBRARIES)(
  'a server that stands still, with $name',
  { timeout: 30_000 },
  (library) => {
    let server: RedisServer;
    let mine: OpenLocks;
    let other: OpenLocks;

    beforeEach(async () => {
      server = await RedisServer.start(redisProgram, { args: ['--enable-debug-command', 'yes'] });
      mine = await OpenLocks.start(library.standalone(server));
      other = await OpenLocks.start(library.standalone(server));
    });
    afterEach(async () => {
      server.resume();
      await mine[Symbol.asyncDispose]();
      await other[Symbol.asyncDispose]();
      await server.stop();
    });

    it.sequential('for less than the ttl takes no lock from its holder', async () => {
      const lock = await mine.locks.acquire('a', { ttl: '6s' });
      await using debug = await RawRedis.open(server);
      await debug.send('DEBUG', 'SLEEP', 1);
      await eventually('it is renewed', () => mine.count('renewed') > 0);
      expect(lock.held).toBe(true);
      await expect(other.locks.tryAcquire('a')).resolves.toBeNull();
      await expect(lock.release()).resolves.toBe(true);
    });

    it.sequential('for more than the ttl ends the lock, which somebody else gets', async () => {
      const lock = await mine.locks.acquire('a', { ttl: 400 });
      await server.pause();
      const waiting = other.locks.acquire('a', { wait: '20s' });
      await eventually('it is lost', () => lock.signal.aborted);
      expect(lock.signal.reason).toMatchObject({ reason: 'expired' });
      server.resume();
      const next = await inTime(waiting, 10_000);
      expect(lock.held).toBe(false);
      expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
      await expect(lock.release()).resolves.toBe(false);
      await expect(other.locks.inspect('a')).resolves.toMatchObject({ owner: next.owner });
    });

    it.sequential(
      'is waited for no longer than `wait`, and keeps nothing that it grants afterwards',
      async () => {
        await server.pause();
        const waiting = mine.locks.acquire('a', { wait: 300 });
        const trying = mine.locks.tryAcquire('b', { ttl: '1s' });
        await Promise.all([
          expect(inTime(waiting)).rejects.toThrow(LockDriverError),
          expect(inTime(trying)).rejects.toThrow(LockDriverError),
        ]);
        server.resume();
        const locks = await inTime(
          Promise.all(['a', 'b'].map((key) => other.locks.acquire(key, { wait: '20s' }))),
          10_000,
        );
        expect(locks.every(({ held }) => held)).toBe(true);
      },
    );

    it.sequential(
      'does not keep a release waiting for long, and frees the lock when it goes on',
      async () => {
        const lock = await mine.locks.acquire('a', { ttl: '1s' });
        await server.pause();
        await expect(inTime(lock.release())).resolves.toBe(false);
        server.resume();
        const next = await inTime(other.locks.acquire('a', { wait: '20s' }), 10_000);
        expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
      },
    );
  },
);
