import { createSentinel } from 'redis';
import { describe, expect, it } from 'vitest';
import { LockConfigError } from '../../../../lib/errors/lock-config.error.js';
import { MemoryLockDriver } from '../../../../lib/drivers/memory/memory-lock.driver.js';
import { IoredisPort } from '../../../../lib/drivers/redis/ioredis.port.js';
import { NodeRedisPort } from '../../../../lib/drivers/redis/node-redis.port.js';
import { isRedisClient, portOf } from '../../../../lib/drivers/redis/redis-client.js';
import { RedisLockDriver } from '../../../../lib/drivers/redis/redis-lock.driver.js';
import { FakeIoredis } from './fake-ioredis.js';
import { FakeNodeRedis, FakeNodeRedisCluster } from './fake-node-redis.js';

const method = (): undefined => undefined;

/** Has the methods of a pool of `pg`. */
class Pool {
  readonly options = { host: 'localhost', password: 'secret' };
  connect = method;
  query = method;
  end = method;
  on = method;
}

const OTHERS: [name: string, value: unknown][] = [
  ['null', null],
  ['undefined', undefined],
  ['a string', 'redis://:secret@localhost'],
  ['a number', 6379],
  ['a function', () => new FakeIoredis()],
  ['an empty object', {}],
  ['a pool of pg', new Pool()],
  ['another driver', new MemoryLockDriver()],
  ['a Redis driver', new RedisLockDriver(new FakeIoredis())],
  ['an array of clients', [new FakeIoredis()]],
  ['a promise of a client', Promise.resolve(new FakeIoredis())],
];

describe('a client', () => {
  it('of ioredis is told by its shape', () => {
    const client = { status: 'ready', eval: method, evalsha: method, duplicate: method };
    expect(portOf(client)).toBeInstanceOf(IoredisPort);
    expect(portOf(new FakeIoredis())).toBeInstanceOf(IoredisPort);
  });

  it('of node-redis is told by its shape', () => {
    const client = { eval: method, evalSha: method, duplicate: method };
    expect(portOf(client)).toBeInstanceOf(NodeRedisPort);
    expect(portOf(new FakeNodeRedis())).toBeInstanceOf(NodeRedisPort);
    expect(portOf(new FakeNodeRedisCluster())).toBeInstanceOf(NodeRedisPort);
  });

  it('of node-redis that asks sentinels is refused, and it is said what to use instead', () => {
    const sentinel = createSentinel({
      name: 'locks',
      sentinelRootNodes: [{ host: '::1', port: 1 }],
    });
    expect(() => portOf(sentinel)).toThrow(LockConfigError);
    expect(() => new RedisLockDriver(sentinel)).toThrow(/createSentinel.*not supported.*ioredis/);
  });

  it('may be behind a proxy', () => {
    expect(isRedisClient(new Proxy(new FakeIoredis(), {}))).toBe(true);
    expect(isRedisClient(new Proxy(new FakeNodeRedis(), {}))).toBe(true);
  });

  it.each(['eval', 'evalsha', 'duplicate', 'status'])(
    'that lacks %s is none of ioredis',
    (missing) => {
      const { [missing]: _, ...rest } = {
        status: 'ready',
        eval: method,
        evalsha: method,
        duplicate: method,
      } as Record<string, unknown>;
      expect(isRedisClient(rest)).toBe(false);
    },
  );

  it.each(['eval', 'evalSha', 'duplicate'])('that lacks %s is none of node-redis', (missing) => {
    const whole = { eval: method, evalSha: method, duplicate: method };
    expect(isRedisClient({ ...whole, [missing]: undefined })).toBe(false);
  });
});

describe('anything else', () => {
  it.each(OTHERS)('is no client, and it is said what would be one: %s', (_, value) => {
    expect(isRedisClient(value)).toBe(false);
    expect(() => portOf(value)).toThrow(LockConfigError);
    expect(() => portOf(value)).toThrow(/ioredis 5 or 6.*iovalkey.*node-redis 5 or 6/);
  });

  it.each(OTHERS)(
    'in place of a driver’s options is refused, and it is said what is taken: %s',
    (_, value) => {
      const create = (): unknown => Reflect.construct(RedisLockDriver, [value]);
      expect(create).toThrow(LockConfigError);
      expect(create).toThrow(/ioredis 5 or 6.*iovalkey.*node-redis 5 or 6/);
      expect(create).not.toThrow(/secret/);
    },
  );

  it.each(OTHERS)(
    'as the option `client` is refused, and it is said what is taken: %s',
    (_, client) => {
      const create = (): unknown => Reflect.construct(RedisLockDriver, [{ client, prefix: 'p:' }]);
      expect(create).toThrow(LockConfigError);
      expect(create).toThrow(/`client`.*ioredis 5 or 6.*iovalkey.*node-redis 5 or 6/);
    },
  );
});
