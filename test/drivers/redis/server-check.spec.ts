import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LockDriverError } from '../../../lib/errors/lock-driver.error.js';
import { ioredis5, ioredis6, nodeRedis6 } from '../../support/redis/client-libraries.js';
import type { OpenClient } from '../../support/redis/client-library.js';
import { OpenLocks } from '../../support/redis/open-locks.js';
import { RedisServer } from '../../support/redis/redis-server.js';
import { hasRedisProgram, redisProgram } from '../../support/redis/use-redis.js';
import type { RedisLockClient } from '../../../lib/drivers/redis/index.js';

const LIBRARIES = [ioredis5, ioredis6, nodeRedis6] as const;

describe.skipIf(!hasRedisProgram)('what the driver says of a server at boot', () => {
  let server: RedisServer;

  beforeEach(async () => {
    server = await RedisServer.start(redisProgram);
  });
  afterEach(() => {
    vi.restoreAllMocks();
    return server.stop();
  });

  it.each(['allkeys-lru', 'volatile-lru', 'volatile-ttl', 'allkeys-random'])(
    'warns that %s evicts locks',
    async (policy) => {
      const warn = vi.spyOn(Logger.prototype, 'warn');
      await server.command('CONFIG', 'SET', 'maxmemory-policy', policy);
      await boot(ioredis5.standalone(server));
      expect(warn.mock.calls).toEqual([
        [expect.stringMatching(new RegExp(`evict locks .* ${policy}\\. Set it to noeviction`))],
      ]);
    },
  );

  it.each(LIBRARIES)('warns of eviction by $name, and of nothing else', async (library) => {
    const warn = vi.spyOn(Logger.prototype, 'warn');
    await boot(library.standalone(server));
    expect(warn).not.toHaveBeenCalled();
    await server.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lfu');
    await boot(library.standalone(server));
    expect(warn).toHaveBeenCalledOnce();
  });

  it.each(['5.0.14', '6.0.16', '4.0'])('refuses what is too old: %s', async (version) => {
    await using mine = OpenLocks.over(await sayingToBe(version));
    const booting = mine.locks.onModuleInit();
    await expect(booting).rejects.toThrow(LockDriverError);
    await expect(booting).rejects.toThrow(`The server is Redis ${version}; locks need 6.2`);
  });

  it.each(['6.2.0', '6.10.1', '10.0.1'])('takes what is new enough: %s', async (version) => {
    await using mine = OpenLocks.over(await sayingToBe(version));
    await mine.locks.onModuleInit();
    await expect(mine.locks.tryAcquire('a')).resolves.not.toBeNull();
  });

  const sayingToBe = async (version: string): Promise<OpenClient<RedisLockClient>> =>
    disguised(await ioredis5.standalone(server).connect(), version);
});

async function boot(client: OpenClient<RedisLockClient>): Promise<void> {
  const open = await OpenLocks.start(client);
  await open[Symbol.asyncDispose]();
}

/** The same client, of a server that says to be of another version. */
function disguised(
  open: OpenClient<RedisLockClient>,
  version: string,
): OpenClient<RedisLockClient> {
  const info = (): Promise<string> =>
    Promise.resolve(`redis_version:${version}\r\nrole:master\r\n`);
  const client = new Proxy(open.client, {
    get: (target, name) => {
      const value: unknown = name === 'info' ? info : Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return new Proxy(open, {
    get: (target, name) => {
      const value: unknown = name === 'client' ? client : Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
