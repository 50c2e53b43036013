import { LockConfigError } from '../../errors/lock-config.error.js';
import { IoredisPort } from './ioredis.port.js';
import { NodeRedisPort } from './node-redis.port.js';
import type { RedisPort } from './redis-port.js';

/** Whatever a client's method takes and gives: clients are told apart by what they can do, not by their types. */
type Method = (...args: never[]) => unknown;

/** A client of ioredis 5 or 6, or of iovalkey: standalone, with Sentinel, or a `Cluster`. */
export interface IoredisClient {
  readonly status: string;
  readonly eval: Method;
  readonly evalsha: Method;
  readonly duplicate: Method;
}

/** A client of node-redis 5 or 6: of `createClient` or of `createCluster`. */
export interface NodeRedisClient {
  readonly eval: Method;
  readonly evalSha: Method;
  readonly duplicate: Method;
}

/** A client that the driver can use; it stays the user's and is never closed. */
export type RedisLockClient = IoredisClient | NodeRedisClient;

/** Whether this is a client at all, of whatever library. */
export function isRedisClient(value: unknown): value is RedisLockClient {
  return isIoredis(value) || isNodeRedis(value);
}

/** The one way in which the driver talks to a client. */
export function portOf(client: unknown): RedisPort {
  if (isIoredis(client)) {
    return new IoredisPort(client);
  }
  if (hasMethods(client, ['getSentinelNode', 'getMasterNode'])) {
    throw new LockConfigError(
      'Option `client` was made by createSentinel of node-redis, which is not supported: with Sentinel use ioredis',
    );
  }
  if (isNodeRedis(client)) {
    return new NodeRedisPort(client);
  }
  throw new LockConfigError(
    'Option `client` is no Redis client that is supported; it must be one of ioredis 5 or 6 (Redis, Cluster), of ' +
      'iovalkey, or of node-redis 5 or 6 (createClient, createCluster)',
  );
}

function isIoredis(value: unknown): value is IoredisClient {
  return hasMethods(value, ['eval', 'evalsha', 'duplicate']) && 'status' in value;
}

function isNodeRedis(value: unknown): value is NodeRedisClient {
  return hasMethods(value, ['eval', 'evalSha', 'duplicate']);
}

function hasMethods(value: unknown, names: readonly string[]): value is object {
  return (
    typeof value === 'object' &&
    value !== null &&
    names.every((name) => typeof Reflect.get(value, name) === 'function')
  );
}
