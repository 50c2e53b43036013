import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ioredis5, ioredis6, nodeRedis6 } from '../../../support/redis/client-libraries.js';
import { listenersOf } from '../../../support/redis/connected-clients.js';
import { eventually } from '../../../support/redis/eventually.js';
import { OpenLocks } from '../../../support/redis/open-locks.js';
import { RedisServer } from '../../../support/redis/redis-server.js';
import { TcpProxy } from '../../../support/redis/tcp-proxy.js';
import { inTime } from '../../../support/redis/timed.js';
import { hasRedisProgram, redisProgram } from '../../../support/redis/use-redis.js';
import { Witness } from '../../../support/redis/witness.js';

const KILLS = 15;
/** Nobody comes back by himself in the time of a test. */
const NO_POLLS = { min: '60s', max: '60s' } as const;

describe.skipIf(!hasRedisProgram).concurrent.each([ioredis5, ioredis6, nodeRedis6])(
  'clients that are killed by the server, with $name',
  { timeout: 30_000 },
  (library) => {
    let server: RedisServer;
    let proxy: TcpProxy;

    beforeEach(async () => {
      server = await RedisServer.start(redisProgram);
      proxy = await TcpProxy.start(server);
    });
    afterEach(async () => {
      await proxy.stop();
      await server.stop();
    });

    it.sequential(
      'come back: nobody holds a lock together with another, and all are served',
      async () => {
        await using one = await OpenLocks.start(library.standalone(server));
        await using two = await OpenLocks.start(library.standalone(server));
        const witness = new Witness('a', { wait: '20s' });
        let killed = 0;
        const watching = witness.watch([one.locks, two.locks], () => killed < KILLS);
        while (killed < KILLS) {
          const { turns } = witness;
          await eventually('there was a turn', () => witness.turns > turns);
          await server.command('CLIENT', 'KILL', 'TYPE', 'normal');
          killed++;
        }
        await watching;
        expect(witness.complaints).toEqual([]);
        expect(witness.errors).toEqual([]);
        await eventually('nothing is left', async () => (await one.locks.list()).length === 0);
      },
    );

    it.sequential('hear of a release after their notices are back', async () => {
      await using holder = await OpenLocks.start(library.standalone(server));
      await using waiter = await OpenLocks.start(library.standalone(server));
      const lock = await holder.locks.acquire('a');
      const waiting = waiter.locks.acquire('a', { wait: '20s', retry: NO_POLLS });
      await eventually('it listens', async () => (await listenersOf(server)) === 1);
      await server.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await eventually('it listens again', async () => (await listenersOf(server)) === 1);
      await lock.release();
      const next = await inTime(waiting, 10_000);
      expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
    });

    it.sequential('hear of a release that was while they were away', async () => {
      await using holder = await OpenLocks.start(library.standalone(server));
      await using waiter = await OpenLocks.start(library.standalone(proxy));
      const lock = await holder.locks.acquire('a');
      const waiting = waiter.locks.acquire('a', { wait: '20s', retry: NO_POLLS });
      await eventually('it listens', async () => (await listenersOf(server)) === 1);
      proxy.refuse();
      await server.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await lock.release();
      await proxy.accept();
      const next = await inTime(waiting, 10_000);
      expect(next.fencingToken).toBeGreaterThan(lock.fencingToken);
    });
  },
);
