import { Redis } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import { PostgresLockDriver } from '../../../lib/drivers/postgres/index.js';
import { RedisLockDriver } from '../../../lib/drivers/redis/index.js';
import type { LockRecord } from '../../../lib/interfaces/lock-driver.interface.js';
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
  /** Where to connect to, directly or over something that stands before it. */
  url(over?: Endpoint): string;
  /** Who has the seat, as the server knows it. */
  seat(office: string): Promise<LockRecord | null>;
}

/** The server for the tests of a file. */
export function useBackend(kind: BackendKind): Backend {
  const url = kind === 'redis' ? useRedisUrl() : usePostgresUrl();
  const urlOver = (over?: Endpoint): string => {
    const target = new URL(url());
    return over === undefined ? target.href : at(target, over).href;
  };
  const locks = useLocks(kind, urlOver);
  return {
    kind,
    get endpoint() {
      const { hostname, port } = new URL(url());
      return { host: hostname, port: Number(port) };
    },
    url: urlOver,
    seat: (office) => locks().inspect(`leader:${office}`),
  };
}

function at(target: URL, { host, port }: Endpoint): URL {
  target.hostname = host;
  target.port = String(port);
  return target;
}

function useRedisUrl(): () => string {
  const server = useRedis();
  return () => server().url;
}

function usePostgresUrl(): () => string {
  const { url } = usePostgres();
  return () => url;
}

/** A look at the server that no wire keeps from it. */
function useLocks(kind: BackendKind, url: () => string): () => LockService {
  let locks: LockService;
  let redis: Redis | undefined;
  beforeAll(async () => {
    redis = kind === 'redis' ? new Redis(url()) : undefined;
    const driver =
      redis === undefined
        ? new PostgresLockDriver({ connectionString: url() })
        : new RedisLockDriver(redis);
    locks = new LockService({ driver, drainTimeout: 0 });
    await locks.onModuleInit();
  });
  afterAll(async () => {
    await locks[Symbol.asyncDispose]();
    redis?.disconnect();
  });
  return () => locks;
}
