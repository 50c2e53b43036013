import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ioredis5, ioredis6, nodeRedis6 } from '../../../support/redis/client-libraries.js';
import { eventually } from '../../../support/redis/eventually.js';
import { OpenLocks } from '../../../support/redis/open-locks.js';
import { RedisServer } from '../../../support/redis/redis-server.js';
import type { ProxiedCommand } from '../../../support/redis/proxied-command.js';
import { TcpProxy } from '../../../support/redis/tcp-proxy.js';
import { inTime } from '../../../support/redis/timed.js';
import { hasRedisProgram, redisProgram } from '../../../support/redis/use-redis.js';

const WAITERS = 50;

/** For so many milliseconds those who wait here follow one another, before others get their chance. */
const RUN = 100;

describe.skipIf(!hasRedisProgram).concurrent.each([ioredis5, ioredis6, nodeRedis6])(
  'what passes between $name and the server',
  { timeout: 60_000 },
  (library) => {
    let server: RedisServer;
    let proxy: TcpProxy;
    let mine: OpenLocks;

    beforeEach(async () => {
      server = await RedisServer.start(redisProgram);
      proxy = await TcpProxy.start(server);
      mine = await OpenLocks.start(library.standalone(proxy));
      // Now the server knows the scripts, and the clients what they want to know of it.
      await (await mine.locks.acquire('first')).release();
      proxy.resetCounts();
    });
    afterEach(async () => {
      await mine[Symbol.asyncDispose]();
      await proxy.stop();
      await server.stop();
    });

    it.sequential('is one command to take a lock and one to give it back', async () => {
      const lock = await mine.locks.acquire('a');
      expect(proxy.counts).toEqual(new Map([['EVALSHA', 1]]));
      await lock.release();
      expect(proxy.counts).toEqual(new Map([['EVALSHA', 2]]));
    });

    it.sequential(`is less than a tenth of a command for each of ${WAITERS} waiters`, async () => {
      let inside = 0;
      const turn = async (): Promise<void> => {
        expect(++inside).toBe(1);
        await new Promise((resolve) => setImmediate(resolve));
        inside--;
      };
      const from = performance.now();
      const turns = Array.from({ length: WAITERS }, () =>
        mine.locks.withLock('a', { wait: '30s' }, turn),
      );
      await Promise.all(turns);
      // On a machine that has no time for all of them in one run, that is so for each run.
      const runs = Math.ceil((performance.now() - from) / RUN);
      expect(proxy.count()).toBeLessThan(runs * (WAITERS / 10));
    });

    it.sequential(
      `is less than a hundredth when ${WAITERS} waiters come again and again`,
      async () => {
        let turns = 0;
        const loop = async (): Promise<void> => {
          while (turns < 5_000) {
            turns++;
            await (await mine.locks.acquire('a', { wait: '30s' })).release();
          }
        };
        await Promise.all(Array.from({ length: WAITERS }, loop));
        expect(proxy.count() / turns).toBeLessThan(0.01);
      },
    );

    it.sequential('is few calls for many locks that are wanted at once', async () => {
      const keys = Array.from({ length: 64 }, (_, i) => `many:${i}`);
      const locks = await Promise.all(keys.map((key) => mine.locks.acquire(key)));
      expect(proxy.count()).toBeLessThanOrEqual(4);
      await Promise.all(locks.map((lock) => lock.release()));
      expect(proxy.count()).toBeLessThanOrEqual(8);
      await expect(mine.locks.list()).resolves.toEqual([]);
    });

    it.sequential('goes out at once, though what was asked before has no answer yet', async () => {
      using hold = proxy.holdReplies(isFor('lock:slow'));
      const slow = mine.locks.acquire('slow', { wait: '30s' });
      await hold.first;
      const quick = mine.locks.acquire('quick', { wait: '30s' });
      await inTime(proxy.next(isFor('lock:quick')));
      hold.release();
      await expect(Promise.all([slow, quick])).resolves.toMatchObject([
        { held: true },
        { held: true },
      ]);
    });

    it.sequential('is few calls for many leases that are due', async () => {
      const keys = Array.from({ length: 100 }, (_, i) => `lease:${i}`);
      await Promise.all(keys.map((key) => mine.locks.acquire(key, { ttl: '6s' })));
      proxy.resetCounts();
      await eventually('all are renewed', () => mine.count('renewed') >= keys.length);
      expect(proxy.count()).toBeLessThanOrEqual(keys.length / 5);
    });
  },
);

function isFor(key: string): (command: ProxiedCommand) => boolean {
  return ({ args }) => args.includes(key);
}
