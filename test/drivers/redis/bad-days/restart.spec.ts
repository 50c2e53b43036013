import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LockDriverError } from '../../../../lib/errors/lock-driver.error.js';
import { LockLostError } from '../../../../lib/errors/lock-lost.error.js';
import { ioredis5, ioredis6, nodeRedis6 } from '../../../support/redis/client-libraries.js';
import { eventually } from '../../../support/redis/eventually.js';
import { OpenLocks } from '../../../support/redis/open-locks.js';
import { RedisServer } from '../../../support/redis/redis-server.js';
import { inTime } from '../../../support/redis/timed.js';
import { hasRedisProgram, redisProgram } from '../../../support/redis/use-redis.js';

describe.skipIf(!hasRedisProgram).concurrent.each([ioredis5, ioredis6, nodeRedis6])(
  'a server that is restarted, with $name',
  { timeout: 30_000 },
  (library) => {
    let server: RedisServer;

    beforeEach(async () => {
      server = await RedisServer.start(redisProgram, { aof: true });
    });
    afterEach(() => server.stop());

    const open = (): Promise<OpenLocks> => OpenLocks.start(library.standalone(server));

    it.sequential('tells who holds a lock that it is lost, if the data are', async () => {
      await using mine = await open();
      await using other = await open();
      const lock = await mine.locks.acquire('a', { ttl: '1s' });
      await server.restart({ data: 'lost' });
      await eventually('the lock is lost', () => lock.signal.aborted);
      expect(lock.signal.reason).toBeInstanceOf(LockLostError);
      expect(() => lock.assertHeld()).toThrow(LockLostError);
      const next = await other.locks.acquire('a');
      expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
      await expect(lock.release()).resolves.toBe(false);
      expect(next.held).toBe(true);
      await expect(mine.locks.tryAcquire('a')).resolves.toBeNull();
    });

    it.sequential('leaves a lock to its holder, if it has its data', async () => {
      await using mine = await open();
      await using other = await open();
      const lock = await mine.locks.acquire('a', { ttl: '3s' });
      await server.restart();
      const renewed = mine.count('renewed');
      await eventually('it is renewed', () => mine.count('renewed') > renewed);
      expect(lock.held).toBe(true);
      await expect(other.locks.tryAcquire('a')).resolves.toBeNull();
      await expect(lock.release()).resolves.toBe(true);
      await expect(other.locks.tryAcquire('a')).resolves.not.toBeNull();
    });

    it.sequential(
      'is waited for no longer than `wait`, and used again when it is back',
      async () => {
        await using mine = await open();
        await server.kill();
        const waiting = mine.locks.acquire('a', { wait: 300 });
        const trying = mine.locks.tryAcquire('b', { ttl: '1s' });
        await Promise.all([
          expect(inTime(waiting)).rejects.toThrow(LockDriverError),
          expect(inTime(trying)).rejects.toThrow(LockDriverError),
        ]);
        const patient = mine.locks.acquire('a', { wait: '20s' });
        await server.restart();
        const lock = await patient;
        expect(lock.held).toBe(true);
        await lock.release();
        await eventually('nothing is left', async () => (await mine.locks.list()).length === 0);
      },
    );

    it.sequential('may forget its scripts', async () => {
      await using mine = await open();
      const lock = await mine.locks.acquire('a', { ttl: '4s' });
      await server.command('SCRIPT', 'FLUSH');
      await eventually('it is renewed', () => mine.count('renewed') > 0);
      expect(mine.count('unknown')).toBe(0);
      await server.command('SCRIPT', 'FLUSH');
      await expect(lock.release()).resolves.toBe(true);
      await server.command('SCRIPT', 'FLUSH');
      await expect(mine.locks.inspect('a')).resolves.toBeNull();
      await expect(mine.locks.forceRelease('a')).resolves.toBe(false);
      const admission = { resource: 'a', token: 1, retention: 1000 };
      await expect(mine.driver.admitToken(admission)).resolves.toMatchObject({ admitted: false });
    });
  },
);
