import { Redis } from 'ioredis';
import { LockService } from 'nestjs-distributed-lock';
import { RedisLockDriver } from 'nestjs-distributed-lock/redis';
import { warmUp } from './handover-warm-up.js';

/** The other process of the bench of hand-overs: it takes the lock that it is told to, or that a message tells of, and says when it had it. */
const [port, byHand] = [Number(process.argv[2]), process.argv[3] as string];
const redis = new Redis(port);
const locks = new LockService(new RedisLockDriver(redis));
await locks.onModuleInit();
await warmUp(locks, redis);

const subscriber = redis.duplicate();
subscriber.on('message', () => void takeByHand());
await subscriber.subscribe(byHand);

process.on('message', (key: string) => void take(key));
process.on('disconnect', () => process.exit());
process.send?.('ready');

async function take(key: string): Promise<void> {
  const lock = await locks.acquire(key, { wait: '30s' });
  const at = now();
  await lock.release();
  process.send?.(at);
}

async function takeByHand(): Promise<void> {
  await redis.set(byHand, 'peer', 'PX', 30_000, 'NX');
  const at = now();
  await redis.del(byHand);
  process.send?.(at);
}

/** Nanoseconds by the one clock that all processes of a machine have. */
function now(): number {
  return Number(process.hrtime.bigint());
}
