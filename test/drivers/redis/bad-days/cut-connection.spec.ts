import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ioredis5, ioredis6, nodeRedis6 } from '../../../support/redis/client-libraries.js';
import { eventually } from '../../../support/redis/eventually.js';
import { OpenLocks } from '../../../support/redis/open-locks.js';
import { RedisServer } from '../../../support/redis/redis-server.js';
import { callOf } from '../../../support/redis/script-calls.js';
import { TcpProxy } from '../../../support/redis/tcp-proxy.js';
import { inTime } from '../../../support/redis/timed.js';
import { hasRedisProgram, redisProgram } from '../../../support/redis/use-redis.js';

const LIBRARIES = [ioredis5, ioredis6, nodeRedis6] as const;
const WHEN = [{ when: 'cutBefore' }, { when: 'cutAfter' }] as const;

describe.skipIf(!hasRedisProgram).concurrent.each(LIBRARIES)(
  'a connection that breaks in the middle, with $name',
  { timeout: 30_000 },
  (library) => {
    let server: RedisServer;
    let proxy: TcpProxy;
    let mine: OpenLocks;
    let other: OpenLocks;

    beforeEach(async () => {
      server = await RedisServer.start(redisProgram);
      proxy = await TcpProxy.start(server);
      mine = await OpenLocks.start(library.standalone(proxy));
      other = await OpenLocks.start(library.standalone(server));
    });
    afterEach(async () => {
      await mine[Symbol.asyncDispose]();
      await other[Symbol.asyncDispose]();
      await proxy.stop();
      await server.stop();
    });

    it.sequential.each(WHEN)('gives the lock all the same: acquire, $when', async ({ when }) => {
      const cut = proxy[when](callOf('acquire'));
      const lock = await mine.locks.acquire('a', { wait: '20s' });
      await cut;
      expect(lock.held).toBe(true);
      await expect(other.locks.tryAcquire('a')).resolves.toBeNull();
      await expect(other.locks.inspect('a')).resolves.toMatchObject({ owner: lock.owner });
      await lock.release();
      await expectFreeFor(other, lock.fencingToken);
    });

    it.sequential.each(WHEN)(
      'leaves nothing locked that nobody waits for: acquire, $when',
      async ({ when }) => {
        proxy.refuse();
        const cut = proxy[when](callOf('acquire'));
        await expect(inTime(mine.locks.acquire('a', { wait: 300 }))).rejects.toMatchObject({
          code: 'LOCK_DRIVER',
        });
        await cut;
        await proxy.accept();
        await expectFreeFor(other, 0n);
      },
    );

    it.sequential.each(WHEN)('does not end the lock: renew, $when', async ({ when }) => {
      const lock = await mine.locks.acquire('a', { ttl: '6s' });
      await proxy[when](callOf('renew'));
      const before = mine.count('renewed');
      await eventually('it is renewed again', () => mine.count('renewed') > before);
      expect(lock.held).toBe(true);
      await expect(other.locks.tryAcquire('a')).resolves.toBeNull();
      await expect(lock.release()).resolves.toBe(true);
      await expectFreeFor(other, lock.fencingToken);
    });

    it.sequential.each(WHEN)('frees the lock in the end: release, $when', async ({ when }) => {
      const lock = await mine.locks.acquire('a');
      const cut = proxy[when](callOf('release'));
      await inTime(lock.release());
      await cut;
      expect(lock.held).toBe(false);
      await expectFreeFor(other, lock.fencingToken);
    });

    it.sequential.each(WHEN)(
      'takes nothing from the next holder: release, $when',
      async ({ when }) => {
        const lock = await mine.locks.acquire('a');
        const cut = proxy[when](callOf('release'));
        const released = lock.release();
        const next = await inTime(other.locks.acquire('a', { wait: '20s' }), 10_000);
        await cut;
        await released;
        await mine[Symbol.asyncDispose]();
        await expect(other.locks.inspect('a')).resolves.toMatchObject({ owner: next.owner });
        expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
      },
    );
  },
);

/** The other process gets it, with a larger token and long before the lease could have run out. */
async function expectFreeFor(next: OpenLocks, token: bigint): Promise<void> {
  const lock = await inTime(next.locks.acquire('a', { wait: '20s' }), 10_000);
  expect(lock.fencingToken).toBeGreaterThan(token);
  await lock.release();
  await eventually('nobody holds it', async () => (await next.locks.inspect('a')) === null);
}
