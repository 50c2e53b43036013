import * as io5 from 'ioredis';
import * as io6 from 'ioredis6';
import * as valkey from 'iovalkey';
import * as redis6 from 'redis';
import * as redis5lib from 'redis5';
import { ioredisLibrary } from './ioredis-library.js';
import { nodeRedisLibrary } from './node-redis-library.js';

/** ioredis 5. */
export const ioredis5 = ioredisLibrary('ioredis 5', {
  single: (options: io5.RedisOptions) => new io5.Redis(options),
  cluster: (nodes, options: io5.ClusterOptions) => new io5.Cluster(nodes, options),
});

/** ioredis 6, which speaks RESP 3. */
export const ioredis6 = ioredisLibrary('ioredis 6', {
  single: (options: io6.RedisOptions) => new io6.Redis(options),
  cluster: (nodes, options: io6.ClusterOptions) => new io6.Cluster(nodes, options),
});

/** iovalkey, the fork of ioredis 5. */
export const iovalkey = ioredisLibrary('iovalkey', {
  single: (options: valkey.RedisOptions) => new valkey.Redis(options),
  cluster: (nodes, options: valkey.ClusterOptions) => new valkey.Cluster(nodes, options),
});

/** node-redis 5. */
export const nodeRedis5 = nodeRedisLibrary('node-redis 5', {
  single: (options: redis5lib.RedisClientOptions) => redis5lib.createClient(options),
  cluster: (options: redis5lib.RedisClusterOptions) => redis5lib.createCluster(options),
});

/** node-redis 6. */
export const nodeRedis6 = nodeRedisLibrary('node-redis 6', {
  single: (options: redis6.RedisClientOptions) => redis6.createClient(options),
  cluster: (options: redis6.RedisClusterOptions) => redis6.createCluster(options),
});

/** All of which a primary can be found by asking sentinels. */
export const SENTINEL_LIBRARIES = [ioredis5, ioredis6, iovalkey] as const;

/** All libraries whose clients the driver takes. */
export const CLIENT_LIBRARIES = [...SENTINEL_LIBRARIES, nodeRedis5, nodeRedis6] as const;
