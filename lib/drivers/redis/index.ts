export type { IoredisClient, NodeRedisClient, RedisLockClient } from './redis-client.js';
export { RedisLockDriver } from './redis-lock.driver.js';
export type { RedisLockDriverOptions, RedisReplicasOptions } from './redis-lock.options.js';
