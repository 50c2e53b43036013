import { Redis } from 'ioredis';
import type { LockDriver } from 'nestjs-distributed-lock';
import { PostgresLockDriver } from 'nestjs-distributed-lock/postgres';
import { RedisLockDriver } from 'nestjs-distributed-lock/redis';
import { Pool } from 'pg';
import { PostgresTicksRepository } from './postgres-ticks.repository.js';
import { RedisTicksRepository } from './redis-ticks.repository.js';
import type { TicksRepository } from './ticks.repository.js';

/** Which backend it is, and where. */
export interface StoreAddress {
  readonly driver: DriverName;
  readonly url: string;
}

export const DRIVER_NAMES = ['postgres', 'redis'] as const;
export type DriverName = (typeof DRIVER_NAMES)[number];

/** What a process uses of the backend. */
export interface Store extends AsyncDisposable {
  readonly driver: LockDriver;
  readonly ticks: TicksRepository;
}

const STORES: Record<DriverName, (url: string) => Store> = {
  postgres(url) {
    const pool = new Pool({ connectionString: url });
    // A connection that breaks while nobody uses it must not end the process: the pool makes another.
    pool.on('error', () => undefined);
    return {
      driver: new PostgresLockDriver(pool),
      ticks: new PostgresTicksRepository(pool),
      [Symbol.asyncDispose]: () => pool.end(),
    };
  },

  redis(url) {
    const redis = new Redis(url);
    redis.on('error', () => undefined);
    return {
      driver: new RedisLockDriver(redis),
      ticks: new RedisTicksRepository(redis),
      [Symbol.asyncDispose]: () => Promise.resolve(redis.disconnect()),
    };
  },
};

export function openStore({ driver, url }: StoreAddress): Store {
  return STORES[driver](url);
}
