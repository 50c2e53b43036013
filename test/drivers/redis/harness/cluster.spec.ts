import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLIENT_LIBRARIES } from '../../../support/redis/client-libraries.js';
import { ClusterProxies } from '../../../support/redis/cluster-proxies.js';
import { RedisCluster } from '../../../support/redis/redis-cluster.js';
import { hasRedisProgram, redisProgram } from '../../../support/redis/use-redis.js';

describe.skipIf(!hasRedisProgram)('a Redis cluster for tests', () => {
  let cluster: RedisCluster;

  beforeAll(async () => {
    cluster = await RedisCluster.start(redisProgram);
  }, 60_000);
  afterAll(() => cluster.stop());

  it('serves each key on one node, to which the others point', async () => {
    for (const [i, key] of (await cluster.keysOfAllNodes('node:')).entries()) {
      const owner = await cluster.nodeOf(key);
      expect(owner).toBe(cluster.nodes[i]);
      await expect(owner.server.command('SET', key, 1)).resolves.toBe('OK');
      for (const other of await cluster.othersThan(key)) {
        const moved = `MOVED ${await cluster.slotOf(key)} 127.0.0.1:${owner.server.port}`;
        await expect(other.server.command('GET', key)).rejects.toThrow(moved);
      }
    }
  });

  it('moves a slot step by step', async () => {
    const [here, gone] = ['{moving}:1', '{moving}:2'] as const;
    const migration = await cluster.migrationOf(here);
    const { from, to, slot } = migration;
    await from.server.command('MSET', here, 'a', gone, 'b');
    await migration.begin();
    await migration.moveKeys(gone);
    expect([await from.countKeys(slot), await to.countKeys(slot)]).toEqual([1, 1]);
    await expect(from.server.command('GET', here)).resolves.toBe('a');
    await expect(from.server.command('GET', gone)).rejects.toThrow(`ASK ${slot}`);
    await expect(from.server.command('MGET', here, gone)).rejects.toThrow('TRYAGAIN');
    await migration.moveKeys();
    await migration.finish();
    expect(await cluster.nodeOf(here)).toBe(to);
    await expect(to.server.command('MGET', here, gone)).resolves.toEqual(['a', 'b']);
  });

  it('keeps a slot whose move is called off', async () => {
    const migration = await cluster.migrationOf('staying');
    await migration.begin();
    await migration.abort();
    expect(await cluster.nodeOf('staying')).toBe(migration.from);
    await expect(migration.from.server.command('GET', 'staying')).resolves.toBeNull();
  });

  it.each(CLIENT_LIBRARIES)('is one for clients of $name', async (library) => {
    await using client = await library.cluster(cluster.servers).connect();
    for (const key of await cluster.keysOfAllNodes(`${library.name}:`)) {
      await expect(client.command('SET', key, '1')).resolves.toBe('OK');
    }
    expect(client.errors).toEqual([]);
  });

  describe('behind proxies', () => {
    let proxies: ClusterProxies;

    beforeAll(async () => {
      proxies = await ClusterProxies.start(cluster);
    }, 60_000);
    afterAll(() => proxies.stop());

    it.each(CLIENT_LIBRARIES)('sends all commands of $name through them', async (library) => {
      await using client = await library.cluster(proxies.all).connect();
      const before = proxies.count('SET');
      for (const key of await cluster.keysOfAllNodes(`${library.name}:`)) {
        const passing = proxies.of(await cluster.nodeOf(key)).next('SET');
        await client.command('SET', key, '1');
        await expect(passing).resolves.toEqual({ name: 'SET', args: [key, '1'] });
      }
      expect(proxies.count('SET')).toBe(before + cluster.nodes.length);
    });
  });
});
