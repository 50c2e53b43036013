import type { Redis } from 'ioredis';
import type { LockService } from 'nestjs-distributed-lock';

const TURNS = 3000;

/** Lets the process do what it will be measured by, until its code is compiled. */
export async function warmUp(locks: LockService, redis: Redis): Promise<void> {
  const key = `warm-up:${process.pid}`;
  for (let i = 0; i < TURNS; i++) {
    const lock = await locks.acquire(key);
    await lock.release();
    await redis.set(key, 'x', 'PX', 1000, 'NX');
    await redis.ping();
  }
}
