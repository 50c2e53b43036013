import { afterAll, beforeAll, inject } from 'vitest';
import { addressOf, type RedisAddress } from './redis-address.js';
import { RedisServer } from './redis-server.js';

const source = inject('redis');

/** Whether there can be a server here; tests that need one are skipped otherwise, as the run's start has told. */
export const hasRedis = source.kind !== 'none';

/** Whether tests can start servers of their own, which is more than to use the one of `REDIS_URL`. */
export const hasRedisProgram = source.kind === 'program';

/** The program that starts them. */
export const redisProgram = source.kind === 'program' ? source.path : '';

/** A server for the tests of this file: that of `REDIS_URL`, which others may use too, or one of its own. */
export function useRedis(): () => RedisAddress {
  let server: RedisServer | undefined;
  beforeAll(async () => {
    server = source.kind === 'program' ? await RedisServer.start(source.path) : undefined;
  });
  afterAll(() => server?.stop());
  return () => (source.kind === 'url' ? addressOf(source.url) : (server as RedisServer));
}
