import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LockDriverError } from '../../../../lib/errors/lock-driver.error.js';
import { ioredis5, ioredis6, nodeRedis6 } from '../../../support/redis/client-libraries.js';
import { eventually } from '../../../support/redis/eventually.js';
import { OpenLocks, type OpenLocksOptions } from '../../../support/redis/open-locks.js';
import type { RedisAddress } from '../../../support/redis/redis-address.js';
import { RedisServer } from '../../../support/redis/redis-server.js';
import { inTime } from '../../../support/redis/timed.js';
import { hasRedisProgram, redisProgram } from '../../../support/redis/use-redis.js';

const NEEDED = ['eval', 'evalsha', 'time', 'get', 'set', 'setrange', 'publish', 'info'] as const;
const COMMANDS = [...NEEDED, 'subscribe', 'unsubscribe', 'scan'];
const ALL_RIGHTS = ['~lock:*', '&lock:*', '-@all', ...COMMANDS.map((command) => `+${command}`)];

describe.skipIf(!hasRedisProgram).each([ioredis5, ioredis6, nodeRedis6])(
  'a user whose rights are limited, with $name',
  { timeout: 30_000 },
  (library) => {
    let server: RedisServer;

    beforeEach(async () => {
      server = await RedisServer.start(redisProgram);
    });
    afterEach(() => server.stop());

    /** With the rights of docs/redis.md, and then those that are given or taken here. */
    async function openAs(
      rights: readonly string[],
      options?: OpenLocksOptions,
    ): Promise<OpenLocks> {
      const reset = ['on', '>secret', 'resetkeys', 'resetchannels'];
      await server.command('ACL', 'SETUSER', 'locks', ...reset, ...ALL_RIGHTS, ...rights);
      const { url, host, port } = server;
      const address: RedisAddress = { url, host, port, username: 'locks', password: 'secret' };
      return OpenLocks.start(library.standalone(address), options);
    }

    it.each(NEEDED)('is refused at boot for lack of `%s`', async (command) => {
      const booting = openAs([`-${command}`]);
      await expect(inTime(booting)).rejects.toThrow(LockDriverError);
      await expect(booting).rejects.toThrow(new RegExp(`\\b${command}\\b.*docs/redis.md`, 'i'));
    });

    it('is refused at boot for lack of its keys', async () => {
      const booting = openAs(['resetkeys', '~other:*']);
      await expect(booting).rejects.toThrow(/NOPERM.*docs\/redis.md/);
    });

    it('is refused at boot for lack of its channels', async () => {
      const booting = openAs(['resetchannels', '&other:*']);
      await expect(booting).rejects.toThrow(/PUBLISH.*channel.*docs\/redis.md/);
    });

    it('is refused at boot for lack of `wait`, if replicas are to confirm', async () => {
      const booting = openAs(['-wait'], { redis: { replicas: { min: 1 } } });
      await expect(inTime(booting)).rejects.toThrow(/wait.*docs\/redis.md/);
    });

    it('cannot list for lack of `scan`, and is told so', async () => {
      await using mine = await openAs(['-scan']);
      await expect(mine.locks.list()).rejects.toThrow(/scan/);
      await expect(mine.locks.list()).rejects.toThrow(LockDriverError);
    });

    it('waits without notices for lack of `subscribe`, and is warned once', async () => {
      const warnings: string[] = [];
      const spy = vi.spyOn(process, 'emitWarning').mockImplementation((warning) => {
        warnings.push(String(warning));
      });
      try {
        await using mine = await openAs(['-subscribe']);
        await using other = await OpenLocks.start(library.standalone(server));
        for (const key of ['a', 'b']) {
          const lock = await other.locks.acquire(key);
          const waiting = mine.locks.acquire(key, { wait: '20s' });
          await eventually('it waits', () => mine.count('waiting') > 0);
          await lock.release();
          await using next = await inTime(waiting, 10_000);
          expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
        }
        await eventually('there is a warning', () => warnings.length > 0);
        expect(warnings).toHaveLength(1);
        expect(warnings[0]).toMatch(/gives no notice of released locks .*subscribe/);
      } finally {
        spy.mockRestore();
      }
    });

    it('loses a right at run time, and is told so', async () => {
      await using mine = await openAs([]);
      const lock = await mine.locks.acquire('a', { ttl: '3s' });
      await server.command('ACL', 'SETUSER', 'locks', '-setrange', '-set');
      await expect(inTime(mine.locks.acquire('b', { wait: 300 }))).rejects.toThrow('docs/redis.md');
      await server.command('ACL', 'SETUSER', 'locks', '+setrange', '+set');
      const renewed = mine.count('renewed');
      await eventually('it is renewed', () => mine.count('renewed') > renewed);
      await expect(lock.release()).resolves.toBe(true);
    });
  },
);
