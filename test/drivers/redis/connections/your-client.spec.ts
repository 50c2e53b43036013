import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ioredis5, ioredis6, nodeRedis6 } from '../../../support/redis/client-libraries.js';
import { connectedClients, listenersOf } from '../../../support/redis/connected-clients.js';
import { eventually } from '../../../support/redis/eventually.js';
import { OpenLocks } from '../../../support/redis/open-locks.js';
import { RedisServer } from '../../../support/redis/redis-server.js';
import { hasRedisProgram, redisProgram } from '../../../support/redis/use-redis.js';

const LIBRARIES = [ioredis5, ioredis6, nodeRedis6] as const;

describe.skipIf(!hasRedisProgram).concurrent.each(LIBRARIES)(
  'the client stays yours, with $name',
  { timeout: 60_000 },
  (library) => {
    let server: RedisServer;
    let mine: OpenLocks;
    let other: OpenLocks;

    beforeEach(async () => {
      server = await RedisServer.start(redisProgram);
      mine = await OpenLocks.start(library.standalone(server));
      other = await OpenLocks.start(library.standalone(server));
    });
    afterEach(async () => {
      await mine[Symbol.asyncDispose]();
      await other[Symbol.asyncDispose]();
      await server.stop();
    });

    /** Somebody waits for a lock of somebody else. */
    async function wait(): Promise<() => Promise<void>> {
      const lock = await other.locks.acquire('a');
      const waiting = mine.locks.acquire('a', { wait: '30s' });
      await eventually('it listens', async () => (await listenersOf(server)) === 1);
      return async () => {
        await lock.release();
        await (await waiting).release();
      };
    }

    it.sequential('and listens to no channel while the driver does', async () => {
      const own = String(await mine.client.command('CLIENT', 'ID'));
      const done = await wait();
      const clients = await connectedClients(server);
      expect(clients.find((client) => client.get('id') === own)?.get('sub')).toBe('0');
      await expect(mine.client.command('PING')).resolves.toBe('PONG');
      await done();
    });

    it.sequential('and keeps its options', async () => {
      const { client } = mine.client;
      const options = 'options' in client ? (client.options as object) : {};
      const before = { ...options };
      await (
        await wait()
      )();
      await mine.driver.close();
      expect({ ...options }).toEqual(before);
    });

    it.sequential('and is not closed with the driver', async () => {
      const before = (await connectedClients(server)).length;
      const done = await wait();
      expect(await connectedClients(server)).toHaveLength(before + 1);
      await done();
      await mine.locks[Symbol.asyncDispose]();
      await eventually('one connection less', async () => {
        return (await connectedClients(server)).length === before;
      });
      await expect(mine.client.command('PING')).resolves.toBe('PONG');
      await mine.driver.close();
      await expect(mine.client.command('PING')).resolves.toBe('PONG');
    });
  },
);
