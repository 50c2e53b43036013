import * as vitest from 'vitest';
import {
  type RedisLockClient,
  RedisLockDriver,
  type RedisLockDriverOptions,
} from '../../../lib/drivers/redis/index.js';
import type { ConformanceOptions } from '../../../lib/testing/conformance/conformance-options.js';
import type { OpenClient } from './client-library.js';

/** Where the drivers of a suite get their clients, and what they are told beside. */
export interface RedisConformance {
  /** Makes a client, for each driver its own. */
  readonly client: () => OpenClient<RedisLockClient>;
  readonly options?: Omit<RedisLockDriverOptions, 'client'>;
  /** What the driver takes for the client. */
  readonly disguise?: (client: RedisLockClient) => RedisLockClient;
  /** One that may do everything; without it neither clean-up nor the server's clock is looked at. */
  readonly admin?: () => OpenClient<RedisLockClient>;
}

/** How the suites run on Redis: every driver has a client of its own, as another process has. */
export function redisConformance(conformance: RedisConformance): ConformanceOptions {
  const { client, options, disguise = (it) => it } = conformance;
  const opened: OpenClient<RedisLockClient>[] = [];
  let admin: OpenClient<RedisLockClient> | undefined;
  vitest.beforeAll(async () => {
    admin = await conformance.admin?.().connect();
  });
  vitest.afterAll(async () => {
    await Promise.all(opened.map((open) => open.close()));
    await admin?.close();
  });

  const create = async (): Promise<RedisLockDriver> => {
    const open = client();
    opened.push(open);
    await open.connect();
    return new RedisLockDriver({ client: disguise(open.client), ...options });
  };
  const ask = (...command: [string, ...string[]]): Promise<unknown> =>
    (admin as OpenClient<RedisLockClient>).command(...command);

  return {
    name: 'redis',
    create,
    second: create,
    ...(conformance.admin && {
      serverTime: async () => {
        const [seconds, microseconds] = (await ask('TIME')) as [string, string];
        return Number(seconds) * 1_000_000 + Number(microseconds);
      },
      purge: async (driver) => {
        const held = new Set((await driver.list({ limit: Infinity })).map(({ key }) => key));
        const names = (await ask('KEYS', '*lock:*')) as string[];
        const free = names.filter((name) => !held.has(name.slice(name.indexOf('lock:') + 5)));
        await ask('DEL', 'nothing', ...free);
      },
    }),
  };
}
