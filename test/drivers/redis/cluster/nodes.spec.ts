import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { LockDriverError } from '../../../../lib/errors/lock-driver.error.js';
import { ioredis5, ioredis6, nodeRedis6 } from '../../../support/redis/client-libraries.js';
import { listenersOf } from '../../../support/redis/connected-clients.js';
import { eventually } from '../../../support/redis/eventually.js';
import { OpenLocks } from '../../../support/redis/open-locks.js';
import { RedisCluster } from '../../../support/redis/redis-cluster.js';
import type { RedisServer } from '../../../support/redis/redis-server.js';
import { inTime } from '../../../support/redis/timed.js';
import { hasRedisProgram, redisProgram } from '../../../support/redis/use-redis.js';

/** Nobody comes back by himself in the time of a test. */
const NO_POLLS = { min: '60s', max: '60s' } as const;

describe.skipIf(!hasRedisProgram).concurrent.each([ioredis5, ioredis6, nodeRedis6])(
  'the nodes of a cluster, with $name',
  { timeout: 60_000 },
  (library) => {
    let cluster: RedisCluster;

    beforeAll(async () => {
      cluster = await RedisCluster.start(redisProgram, {
        args: ['--cluster-node-timeout', '1000', '--cluster-require-full-coverage', 'no'],
      });
    }, 60_000);
    afterEach(async () => {
      const [first] = cluster.servers as [RedisServer];
      first.resume();
      await (first.isRunning ? undefined : first.restart());
      await cluster.untilAgreed();
      await Promise.all(cluster.servers.map((server) => server.command('FLUSHALL')));
    });
    afterAll(() => cluster.stop());

    /** A key of each node, without the prefix. */
    async function keysOfAllNodes(): Promise<readonly string[]> {
      return (await cluster.keysOfAllNodes('lock:')).map((name) => name.slice('lock:'.length));
    }

    it.sequential('each tell of the releases of their own keys', async () => {
      await using holder = await OpenLocks.start(library.cluster(cluster.servers));
      await using waiter = await OpenLocks.start(library.cluster(cluster.servers));
      const keys = await keysOfAllNodes();
      for (let round = 0; round < 2; round++) {
        const locks = await Promise.all(keys.map((key) => holder.locks.acquire(key)));
        const waiting = keys.map((key) =>
          waiter.locks.acquire(key, { wait: '50s', retry: NO_POLLS }),
        );
        await eventually('it listens everywhere', async () => {
          const counts = await Promise.all(cluster.servers.map(listenersOf));
          return counts.every((count) => count >= 1);
        });
        await Promise.all(locks.map((lock) => lock.release()));
        const next = await inTime(Promise.all(waiting), 10_000);
        expect(next.map(({ held }) => held)).toEqual([true, true, true]);
        await Promise.all(next.map((lock) => lock.release()));
      }
    });

    it.sequential('are listened to again after a cut', async () => {
      await using holder = await OpenLocks.start(library.cluster(cluster.servers));
      await using waiter = await OpenLocks.start(library.cluster(cluster.servers));
      const keys = await keysOfAllNodes();
      const locks = await Promise.all(keys.map((key) => holder.locks.acquire(key)));
      const waiting = keys.map((key) =>
        waiter.locks.acquire(key, { wait: '50s', retry: NO_POLLS }),
      );
      const listens = async (): Promise<boolean> => {
        const counts = await Promise.all(cluster.servers.map(listenersOf));
        return counts.every((count) => count >= 1);
      };
      await eventually('it listens everywhere', listens);
      await Promise.all(
        cluster.servers.map((server) => server.command('CLIENT', 'KILL', 'TYPE', 'pubsub')),
      );
      await eventually('it listens everywhere again', listens);
      await Promise.all(locks.map((lock) => lock.release()));
      const next = await inTime(Promise.all(waiting), 10_000);
      expect(next.map(({ held }) => held)).toEqual([true, true, true]);
    });

    it.sequential.each(['kill', 'pause'] as const)(
      'fall one by one (%s), and the leases of the others go on',
      async (how) => {
        await using mine = await OpenLocks.start(library.cluster(cluster.servers), {
          ttl: '1500ms',
        });
        const keys = await keysOfAllNodes();
        const locks = await Promise.all(keys.map((key) => mine.locks.acquire(key)));
        await cluster.servers[0]?.[how]();
        await eventually('the lock of the dead node is lost', () => !locks[0]?.held);
        const before = mine.count('renewed');
        await eventually('the others are renewed twice', () => mine.count('renewed') >= before + 4);
        expect(locks.map(({ held }) => held)).toEqual([false, true, true]);
        expect(locks[0]?.signal.reason).toMatchObject({ reason: 'expired' });
        const waiting = mine.locks.acquire(keys[0] as string, { wait: 300 });
        await expect(inTime(waiting)).rejects.toThrow(LockDriverError);
        await expect(locks[1]?.release()).resolves.toBe(true);
        await expect(mine.locks.tryAcquire(keys[1] as string)).resolves.not.toBeNull();
      },
    );

    it.sequential('are waited for no longer than `wait` when the cluster is down', async () => {
      await using mine = await OpenLocks.start(library.cluster(cluster.servers));
      const keys = await keysOfAllNodes();
      await Promise.all(
        cluster.servers.map((server) =>
          server.command('CONFIG', 'SET', 'cluster-require-full-coverage', 'yes'),
        ),
      );
      await cluster.nodes[0]?.server.kill();
      await eventually('the cluster is down', async () => {
        const info = String(await cluster.nodes[1]?.server.command('CLUSTER', 'INFO'));
        return info.includes('cluster_state:fail');
      });
      const waiting = mine.locks.acquire(keys[1] as string, { wait: 300 });
      await expect(inTime(waiting)).rejects.toThrow(LockDriverError);
      const patient = mine.locks.acquire(keys[1] as string, { wait: '50s' });
      await cluster.nodes[0]?.server.restart();
      await Promise.all(
        cluster.servers.map((server) =>
          server.command('CONFIG', 'SET', 'cluster-require-full-coverage', 'no'),
        ),
      );
      await expect(inTime(patient, 20_000)).resolves.toMatchObject({ held: true });
    });
  },
);
