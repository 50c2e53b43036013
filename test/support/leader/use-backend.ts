import { Redis } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import { PostgresLockDriver } from '../../../lib/drivers/postgres/index.js';
import { RedisLockDriver } from '../../../lib/drivers/redis/index.js';
import type { LockDriver, LockRecord } from '../../../lib/interfaces/lock-driver.interface.js';
import { LockService } from '../../../lib/lock.service.js';
import type { BackendKind } from '../../process/leader-process.calls.js';
import { usePostgres } from '../postgres/use-postgres.js';
import { hasRedis, useRedis } from '../redis/use-redis.js';
import type { Endpoint } from './wire.js';

/** The backends on which the tests of leaders run, with what cannot run left out; the start of the run has told why. */
export const BACKENDS: readonly BackendKind[] = hasRedis ? ['redis', 'postgres'] : ['postgres'];

/** A server on which leaders are elected. */
export interface Backend {
  readonly kind: BackendKind;
  readonly endpoint: Endpoint;
  /** How to connect to it over something that stands before it. */
  urlOver(wire: Endpoint): string;
  /** Who has the seat, as the server knows it. */
  seat(office: string): Promise<LockRecord | null>;
  /** What leaders have written, in its order. */
  ledger(office: string): Promise<readonly string[]>;
}

/** The server for the tests of a file. */
export function useBackend(kind: BackendKind): Backend {
  return kind === 'redis' ? useRedisBackend() : usePostgresBackend();
}

function useRedisBackend(): Backend {
  const server = useRedis();
  let redis: Redis;
  let locks: LockService;
  beforeAll(async () => {
    redis = new Redis(server().url);
    locks = await openLocks(new RedisLockDriver(redis));
  });
  afterAll(async () => {
    await locks[Symbol.asyncDispose]();
    redis.disconnect();
  });
  return {
    ...placeOf('redis', () => server().url),
    seat: (office) => locks.inspect(`leader:${office}`),
    ledger: (office) => redis.lrange(`ledger:${office}`, 0, -1),
  };
}

function usePostgresBackend(): Backend {
  const database = usePostgres();
  let locks: LockService;
  beforeAll(async () => {
    await database.query('CREATE TABLE ledger (number bigserial, name text, line text)');
    locks = await openLocks(new PostgresLockDriver({ connectionString: database.url }));
  });
  afterAll(() => locks[Symbol.asyncDispose]());
  return {
    ...placeOf('postgres', () => database.url),
    seat: (office) => locks.inspect(`leader:${office}`),
    async ledger(office) {
      const text = 'SELECT line FROM ledger WHERE name = $1 ORDER BY number';
      return (await database.query(text, [office])).map(({ line }) => line as string);
    },
  };
}

function placeOf(
  kind: BackendKind,
  url: () => string,
): Pick<Backend, 'kind' | 'endpoint' | 'urlOver'> {
  return {
    kind,
    endpoint: {
      get host() {
        return new URL(url()).hostname;
      },
      get port() {
        return Number(new URL(url()).port);
      },
    },
    urlOver({ host, port }) {
      const target = new URL(url());
      target.host = `${host}:${port}`;
      return target.href;
    },
  };
}

/** A look at the server that no wire keeps from it. */
async function openLocks(driver: LockDriver): Promise<LockService> {
  const locks = new LockService({ driver, drainTimeout: 0 });
  await locks.onModuleInit();
  return locks;
}
