import { describe, expect, it } from 'vitest';
import { LockConfigError } from '../../../../lib/errors/lock-config.error.js';
import { IoredisPort } from '../../../../lib/drivers/redis/ioredis.port.js';
import { NodeRedisPort } from '../../../../lib/drivers/redis/node-redis.port.js';
import { resolveOptions } from '../../../../lib/drivers/redis/redis-lock.options.js';
import { FakeIoredis } from './fake-ioredis.js';
import { FakeNodeRedis, FakeNodeRedisCluster } from './fake-node-redis.js';

const client = new FakeIoredis();
const withOptions = (options: object) => resolveOptions({ client, ...options });

describe('the options of the Redis driver', () => {
  it('have defaults, for a client alone too', () => {
    const defaults = {
      port: expect.any(IoredisPort),
      prefix: 'lock:',
      retention: 60_000,
      replicas: undefined,
      answerTimeout: 10_000,
    };
    expect(resolveOptions(client)).toEqual(defaults);
    expect(resolveOptions({ client })).toEqual(defaults);
    expect(resolveOptions(new FakeNodeRedis()).port).toBeInstanceOf(NodeRedisPort);
  });

  it('are taken as they are given, durations as strings too', () => {
    expect(
      withOptions({
        prefix: '{lock}:',
        retention: '2m',
        replicas: { min: 2, timeout: '300ms' },
        answerTimeout: 2500,
      }),
    ).toEqual({
      port: expect.any(IoredisPort),
      prefix: '{lock}:',
      retention: 120_000,
      replicas: { min: 2, timeout: 300 },
      answerTimeout: 2500,
    });
  });

  it('may be durations of one millisecond', () => {
    const shortest = { retention: 1, answerTimeout: '1ms', replicas: { min: 1, timeout: 1 } };
    expect(withOptions(shortest)).toMatchObject({ ...shortest, answerTimeout: 1 });
  });

  it('have a default for how long to wait for replicas', () => {
    expect(withOptions({ replicas: { min: 1 } }).replicas).toEqual({ min: 1, timeout: 500 });
  });

  it('are not given where they are undefined', () => {
    const none = { prefix: undefined, retention: undefined, replicas: undefined };
    expect(withOptions({ ...none, answerTimeout: undefined })).toEqual(resolveOptions(client));
    expect(withOptions({ replicas: { min: 1, timeout: undefined } }).replicas?.timeout).toBe(500);
  });

  it.each([
    ['prefx', '`prefix`'],
    ['cliant', '`client`'],
    ['retentoin', '`retention`'],
    ['Replicas', '`replicas`'],
    ['timeout', 'client, prefix, retention, replicas, answerTimeout'],
  ])('that do not exist are refused with a hint: %s', (name, hint) => {
    const resolve = () => withOptions({ [name]: 1 });
    expect(resolve).toThrow(LockConfigError);
    expect(resolve).toThrow(`Unknown option \`${name}\``);
    expect(resolve).toThrow(hint);
  });

  it('of replicas that do not exist are refused with a hint', () => {
    const misspelt = { replicas: { min: 1, timout: 5 } };
    expect(() => withOptions(misspelt)).toThrow(LockConfigError);
    expect(() => withOptions(misspelt)).toThrow('`replicas.timeout`');
  });

  it.each([
    ['prefix', ''],
    ['prefix', 7],
    ['prefix', null],
    ['retention', 0],
    ['retention', -1],
    ['retention', NaN],
    ['retention', Infinity],
    ['retention', 'soon'],
    ['retention', null],
    ['answerTimeout', 0],
    ['answerTimeout', Infinity],
    ['answerTimeout', '0s'],
    ['answerTimeout', true],
    ['replicas', 1],
    ['replicas', null],
    ['replicas', 'two'],
  ])('with a bad value are refused by their name: %s = %j', (name, value) => {
    const resolve = () => withOptions({ [name]: value });
    expect(resolve).toThrow(LockConfigError);
    expect(resolve).toThrow(`Option \`${name}\` is`);
    expect(resolve).toThrow('it must be');
  });

  it.each([
    {},
    { min: undefined },
    { min: 0 },
    { min: -1 },
    { min: 1.5 },
    { min: '1' },
    { min: NaN },
    [],
  ])('never make do with no replica: %j', (replicas) => {
    const resolve = () => withOptions({ replicas });
    expect(resolve).toThrow(LockConfigError);
    expect(resolve).toThrow('Option `replicas.min` is');
    expect(resolve).toThrow('a whole number of at least 1');
  });

  it.each([0, -5, 'never', Infinity])('wait for replicas for a while: %j', (timeout) => {
    const resolve = () => withOptions({ replicas: { min: 1, timeout } });
    expect(resolve).toThrow(LockConfigError);
    expect(resolve).toThrow('Option `replicas.timeout` is');
  });

  it('take no replicas with a cluster', () => {
    const cluster = new FakeIoredis();
    cluster.isCluster = true;
    for (const given of [cluster, new FakeNodeRedisCluster()]) {
      const resolve = () => resolveOptions({ client: given, replicas: { min: 1 } });
      expect(resolve).toThrow(LockConfigError);
      expect(resolve).toThrow(/`replicas`.*cluster/);
      expect(resolveOptions(given).port.isCluster).toBe(true);
    }
  });

  it('may be an object of a class', () => {
    class Options {
      readonly client = client;
      readonly prefix = 'p:';
    }
    expect(resolveOptions(new Options()).prefix).toBe('p:');
  });
});
