import * as vitest from 'vitest';
import { afterAll, beforeAll, describe } from 'vitest';
import { describeLockDriver } from '../../lib/testing/driver-conformance.js';
import { describeLockService } from '../../lib/testing/service-conformance.js';
import {
  ioredis5,
  ioredis6,
  iovalkey,
  nodeRedis5,
  nodeRedis6,
} from '../support/redis/client-libraries.js';
import { documentedUser, grantDocumentedRights } from '../support/redis/documented-rights.js';
import { RedisCluster } from '../support/redis/redis-cluster.js';
import { redisConformance, type RedisConformance } from '../support/redis/redis-conformance.js';
import { hasRedisProgram, redisProgram } from '../support/redis/use-redis.js';

let cluster: RedisCluster;

const VARIANTS: Readonly<Record<string, RedisConformance>> = {
  ...Object.fromEntries(
    [ioredis5, ioredis6, nodeRedis6].map((library) => [
      library.name,
      { client: () => library.cluster(cluster.servers) },
    ]),
  ),
  'ioredis with a keyPrefix': {
    client: () => ioredis5.cluster(cluster.servers, { keyPrefix: 'app:' }),
  },
  'a user with the rights of docs/redis.md and no others': {
    client: () => ioredis5.cluster(cluster.servers, { redisOptions: documentedUser }),
  },
  'all locks in one slot': {
    client: () => nodeRedis6.cluster(cluster.servers),
    options: { prefix: '{lock}:' },
  },
};

describe.skipIf(!hasRedisProgram)('a cluster', () => {
  beforeAll(async () => {
    cluster = await RedisCluster.start(redisProgram);
    for (const server of cluster.servers) {
      await using client = await ioredis5.standalone(server).connect();
      await grantDocumentedRights(client, 'cluster');
    }
  });
  afterAll(() => cluster.stop());

  describe.each(Object.entries(VARIANTS))('%s', (_, variant) => {
    const options = redisConformance(variant);
    describeLockDriver(vitest, options);
    describeLockService(vitest, options);
  });

  // iovalkey cannot listen to shards, and node-redis 5 finds no node for keys with an empty hash tag.
  describe.each([iovalkey, nodeRedis5])('$name', (library) => {
    describeLockService(
      vitest,
      redisConformance({ client: () => library.cluster(cluster.servers) }),
    );
  });
});
