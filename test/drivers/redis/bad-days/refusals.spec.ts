import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LockDriverError } from '../../../../lib/errors/lock-driver.error.js';
import { ioredis5, ioredis6, nodeRedis6 } from '../../../support/redis/client-libraries.js';
import { eventually } from '../../../support/redis/eventually.js';
import { OpenLocks } from '../../../support/redis/open-locks.js';
import { RedisServer } from '../../../support/redis/redis-server.js';
import { callOf } from '../../../support/redis/script-calls.js';
import { TcpProxy } from '../../../support/redis/tcp-proxy.js';
import { inTime } from '../../../support/redis/timed.js';
import { hasRedisProgram, redisProgram } from '../../../support/redis/use-redis.js';

const LIBRARIES = [ioredis5, ioredis6, nodeRedis6] as const;

const IN_PASSING = [
  ['LOADING', 'LOADING Redis is loading the dataset in memory', 'just started'],
  ['MISCONF', 'MISCONF Redis is configured to save RDB snapshots', 'cannot save'],
  ['READONLY', "READONLY You can't write against a read only replica.", 'this is a replica'],
  ['NOREPLICAS', 'NOREPLICAS Not enough good replicas to write.', 'min-replicas-to-write'],
  [
    'MASTERDOWN',
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
    'without a primary',
  ],
  ['BUSY', 'BUSY Redis is busy running a script.', 'BUSY'],
] as const;

describe.skipIf(!hasRedisProgram).concurrent.each(LIBRARIES)(
  'a server that refuses, with $name',
  { timeout: 30_000 },
  (library) => {
    let server: RedisServer;
    let proxy: TcpProxy;
    let mine: OpenLocks;

    beforeEach(async () => {
      server = await RedisServer.start(redisProgram);
      proxy = await TcpProxy.start(server);
      mine = await OpenLocks.start(library.standalone(proxy));
    });
    afterEach(async () => {
      await mine[Symbol.asyncDispose]();
      await proxy.stop();
      await server.stop();
    });

    it.sequential.each(IN_PASSING)(
      'is asked again, or named as the reason: %s',
      async (_, error, advice) => {
        const refused = proxy.answer(callOf('acquire'), error);
        const failure: unknown = await mine.locks
          .tryAcquire('a')
          .catch((reason: unknown) => reason);
        expect(failure).toBeInstanceOf(LockDriverError);
        expect(String(failure)).toContain(advice);
        await refused;
        void proxy.answer(callOf('acquire'), error);
        void proxy.answer(callOf('acquire'), error);
        const lock = await mine.locks.acquire('a', { ttl: '3s' });
        void proxy.answer(callOf('renew'), error);
        await eventually('it is renewed', () => mine.count('renewed') > 0);
        void proxy.answer(callOf('release'), error);
        await lock.release();
        await eventually('it is free', async () => (await mine.locks.inspect('a')) === null);
      },
    );

    it.sequential('because it is full still renews and releases what is held', async () => {
      const lock = await mine.locks.acquire('a', { ttl: '3s' });
      await server.command('CONFIG', 'SET', 'maxmemory', 1);
      const waiting = mine.locks.acquire('b', { wait: 300 });
      await expect(inTime(waiting)).rejects.toThrow(/OOM.*maxmemory/);
      await expect(waiting).rejects.toThrow(LockDriverError);
      await eventually('it is renewed', () => mine.count('renewed') > 0);
      expect(mine.count('unknown')).toBe(0);
      await expect(lock.extend('6s')).resolves.toBeUndefined();
      await expect(lock.release()).resolves.toBe(true);
      await expect(mine.locks.inspect('a')).resolves.toBeNull();
      await server.command('CONFIG', 'SET', 'maxmemory', 0);
      await expect(mine.locks.tryAcquire('b')).resolves.not.toBeNull();
    });

    it.sequential(
      'because it became a replica is used again when it is a primary again',
      async () => {
        const lock = await mine.locks.acquire('a', { ttl: '900ms' });
        const kept = await mine.locks.acquire('kept', { ttl: '20s' });
        await server.command('REPLICAOF', '127.0.0.1', 1);
        const waiting = mine.locks.acquire('b', { wait: 300 });
        await expect(inTime(waiting)).rejects.toThrow(/READONLY.*primary/);
        await eventually('it is lost', () => lock.signal.aborted);
        expect(lock.signal.reason).toMatchObject({ reason: 'expired' });
        const patient = mine.locks.acquire('b', { wait: '20s' });
        await server.command('REPLICAOF', 'NO', 'ONE');
        await expect(inTime(patient, 10_000)).resolves.toMatchObject({ held: true });
        expect(kept.held).toBe(true);
        await expect(kept.release()).resolves.toBe(true);
      },
    );

    it.sequential.each([
      ['a list', ['LPUSH', 'lock:taken', 'x']],
      ['a short string', ['SET', 'lock:taken', 'x']],
      ['a long string', ['SET', 'lock:taken', 'x'.repeat(100)]],
    ])('because the key is %s harms no other key', async (_, command) => {
      await server.command(...command);
      const keys = ['a', 'taken', 'b'];
      const answers = await Promise.allSettled(keys.map((key) => mine.locks.tryAcquire(key)));
      expect(answers).toMatchObject([
        { status: 'fulfilled', value: { held: true } },
        { status: 'rejected', reason: { code: 'LOCK_DRIVER' } },
        { status: 'fulfilled', value: { held: true } },
      ]);
      expect(String((answers[1] as PromiseRejectedResult).reason)).toMatch(/WRONGTYPE.*prefix/);
      await expect(mine.locks.forceRelease('taken')).rejects.toThrow(LockDriverError);
      await expect(server.command('EXISTS', 'lock:taken')).resolves.toBe(1);
      await expect(mine.locks.inspect('taken')).resolves.toBeNull();
      expect((await mine.locks.list()).map(({ key }) => key).toSorted()).toEqual(['a', 'b']);
    });
  },
);
