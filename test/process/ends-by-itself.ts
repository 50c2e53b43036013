import 'reflect-metadata';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { RedisLockDriver } from '../../lib/drivers/redis/index.js';
import { LockService } from '../../lib/lock.service.js';

/** Uses locks in all ways that open something, closes its own client, and has nothing left to do. */
const [library, url, mode] = process.argv.slice(2) as [string, string, string];

const redis = library === 'ioredis' ? new Redis(url) : createClient({ url });
redis.on('error', () => undefined);
if ('isOpen' in redis) {
  await redis.connect();
}
const replicas = mode.includes('replicas') ? { replicas: { min: 1 } } : {};
const open = (): LockService =>
  new LockService({ driver: new RedisLockDriver({ client: redis, ...replicas }), drainTimeout: 0 });
const [mine, other] = [open(), open()];
await Promise.all([mine.onModuleInit(), other.onModuleInit()]);

const key = `${library}:${mode}`;
const lock = await other.acquire(key);
const waiting = mine.acquire(key, { wait: '20s' });
await new Promise((resolve) => setImmediate(resolve));
await lock.release();
const next = await waiting;
if (mode !== 'held' && !mode.startsWith('late')) {
  await next.release();
}
await Promise.all([mine[Symbol.asyncDispose](), other[Symbol.asyncDispose]()]);
if (mode.startsWith('late')) {
  // A handle that is given back after the end opens nothing again.
  await next.release();
}
if ('destroy' in redis) {
  redis.destroy();
} else {
  redis.disconnect();
}
