import * as vitest from 'vitest';
import { beforeAll, describe } from 'vitest';
import type { RedisLockClient } from '../../lib/drivers/redis/index.js';
import { describeLockDriver } from '../../lib/testing/driver-conformance.js';
import { describeLockService } from '../../lib/testing/service-conformance.js';
import { CLIENT_LIBRARIES, ioredis5, nodeRedis6 } from '../support/redis/client-libraries.js';
import { documentedUser, grantDocumentedRights } from '../support/redis/documented-rights.js';
import { redisConformance, type RedisConformance } from '../support/redis/redis-conformance.js';
import { hasRedis, useRedis } from '../support/redis/use-redis.js';

const redis = useRedis();
const admin = () => ioredis5.standalone(redis());

beforeAll(async () => {
  await using client = await admin().connect();
  await grantDocumentedRights(client, 'standalone');
});

const infoOfRedis6 = (): Promise<string> =>
  Promise.resolve('redis_version:6.2.14\r\nrole:master\r\n');

/** A client of a server that knows no script flags, as that says of itself. */
function asRedis6(client: RedisLockClient): RedisLockClient {
  return new Proxy(client, {
    get: (target, name) => {
      const value: unknown = name === 'info' ? infoOfRedis6 : Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

const VARIANTS: Readonly<Record<string, RedisConformance>> = {
  ...Object.fromEntries(
    CLIENT_LIBRARIES.map((library) => [
      library.name,
      { client: () => library.standalone(redis()) },
    ]),
  ),
  'ioredis with a keyPrefix': {
    client: () => ioredis5.standalone(redis(), { keyPrefix: 'app[1]:' }),
  },
  'node-redis with a keyPrefix': {
    client: () => nodeRedis6.standalone(redis(), { keyPrefix: 'app*:' }),
  },
  'ioredis as BullMQ wants it': {
    client: () =>
      ioredis5.standalone(redis(), { maxRetriesPerRequest: null, enableOfflineQueue: true }),
  },
  'ioredis that pipelines by itself and gives numbers as strings': {
    client: () => ioredis5.standalone(redis(), { enableAutoPipelining: true, stringNumbers: true }),
  },
  'a user with the rights of docs/redis.md and no others': {
    client: () => ioredis5.standalone({ ...redis(), ...documentedUser }),
  },
  'a user with the rights of docs/redis.md and no others, by node-redis': {
    client: () => nodeRedis6.standalone({ ...redis(), ...documentedUser }),
  },
  'a server without script flags': {
    client: () => ioredis5.standalone(redis()),
    disguise: asRedis6,
  },
};

describe.skipIf(!hasRedis).each(Object.entries(VARIANTS))('%s', (_, variant) => {
  const options = redisConformance({ admin, ...variant });
  describeLockDriver(vitest, options);
  describeLockService(vitest, options);
});
