import { describe, expect, it } from 'vitest';
import { SENTINEL_LIBRARIES } from '../../../support/redis/client-libraries.js';
import { RedisSentinels } from '../../../support/redis/redis-sentinels.js';
import { hasRedisProgram, redisProgram } from '../../../support/redis/use-redis.js';

describe.skipIf(!hasRedisProgram)('Redis sentinels for tests', { timeout: 60_000 }, () => {
  it.each(SENTINEL_LIBRARIES)('lead $name to the primary, and to the next one', async (library) => {
    await using trio = await RedisSentinels.start(redisProgram);
    await using client = await library.sentinel(trio, { maxRetriesPerRequest: null }).connect();
    await client.command('SET', 'a', 'first');
    await expect(trio.primary.command('GET', 'a')).resolves.toBe('first');
    const { primary: first, replica } = trio;
    await trio.failover('kill');
    expect(trio.primary).toBe(replica);
    expect(first.isRunning).toBe(false);
    await client.command('SET', 'a', 'second');
    await expect(trio.primary.command('GET', 'a')).resolves.toBe('second');
  });

  it('swap the two when they are told to, again and again', async () => {
    await using trio = await RedisSentinels.start(redisProgram);
    const { primary, replica } = trio;
    await expect(trio.failover()).resolves.toBe(replica);
    await expect(primary.command('SET', 'a', 1)).rejects.toThrow('READONLY');
    await expect(trio.failover()).resolves.toBe(primary);
    await expect(primary.command('SET', 'a', 1)).resolves.toBe('OK');
  });

  it('make a replica of a primary that stood still, and of one that comes back', async () => {
    await using trio = await RedisSentinels.start(redisProgram);
    const { primary } = trio;
    await trio.failover('pause');
    primary.resume();
    await trio.untilReady();
    await expect(primary.command('SET', 'a', 1)).rejects.toThrow('READONLY');
    await trio.failover('kill');
    await trio.replica.restart();
    await trio.untilReady();
    await expect(trio.replica.command('SET', 'a', 1)).rejects.toThrow('READONLY');
  });
});
