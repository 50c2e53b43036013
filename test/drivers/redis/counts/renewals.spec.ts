import { describe, expect, it } from 'vitest';
import { ioredis5, nodeRedis6 } from '../../../support/redis/client-libraries.js';
import { eventually } from '../../../support/redis/eventually.js';
import { OpenLocks } from '../../../support/redis/open-locks.js';
import { RedisServer } from '../../../support/redis/redis-server.js';
import { TcpProxy } from '../../../support/redis/tcp-proxy.js';
import { hasRedisProgram, redisProgram } from '../../../support/redis/use-redis.js';

const LEASES = 2_000;
const TTL = 3_000;
/** How often each is renewed while it is counted: each holds for more than 10 s. */
const RENEWALS = 10;
const PER_SECOND = 10;

describe.skipIf(!hasRedisProgram)('many leases', { timeout: 90_000 }, () => {
  it.each([ioredis5, nodeRedis6])('are renewed by few commands, with $name', async (library) => {
    await using server = await RedisServer.start(redisProgram);
    await using proxy = await TcpProxy.start(server);
    await using mine = await OpenLocks.start(library.standalone(proxy), { ttl: TTL });
    const keys = Array.from({ length: LEASES }, (_, i) => `lease:${i}`);
    const locks = await Promise.all(keys.map((key) => mine.locks.acquire(key, { wait: '30s' })));
    let renewed = 0;
    mine.locks.events$.subscribe(({ type }) => (renewed += type === 'renewed' ? 1 : 0));
    // Those that were taken a moment after one another fall due together from the first time on.
    await eventually('all were renewed', () => renewed >= LEASES);
    proxy.resetCounts();
    const from = performance.now();
    await eventually('all were renewed so often', () => renewed >= LEASES * (1 + RENEWALS));
    const seconds = (performance.now() - from) / 1000;
    expect(proxy.count() / seconds).toBeLessThanOrEqual(PER_SECOND);
    expect(locks.filter(({ held }) => !held)).toEqual([]);
    expect([mine.count('lost'), mine.count('unknown')]).toEqual([0, 0]);
    await Promise.all(locks.map((lock) => lock.release()));
    await expect(mine.locks.list()).resolves.toEqual([]);
  });
});
