import { Logger } from '@nestjs/common';
import {
  type RedisLockClient,
  RedisLockDriver,
  type RedisLockDriverOptions,
} from '../../../lib/drivers/redis/index.js';
import type { LockServiceOptions } from '../../../lib/interfaces/distributed-lock-module-options.interface.js';
import type { LockEvent } from '../../../lib/interfaces/lock-event.interface.js';
import { LockService } from '../../../lib/lock.service.js';
import type { OpenClient } from './client-library.js';

// Losses and unknown outcomes are what these tests are about; nobody needs to read of them.
Logger.overrideLogger(false);

/** Options of the service and, under `redis`, of its driver. */
export type OpenLocksOptions = Partial<Omit<LockServiceOptions, 'driver'>> & {
  readonly redis?: Partial<RedisLockDriverOptions>;
};

/** A service on a driver with a client of its own, as one process of an application has. */
export class OpenLocks implements AsyncDisposable {
  /** All that happened to its locks so far. */
  readonly events: LockEvent[] = [];

  private constructor(
    readonly client: OpenClient<RedisLockClient>,
    readonly driver: RedisLockDriver,
    readonly locks: LockService,
  ) {
    locks.events$.subscribe((event) => this.events.push(event));
  }

  /** Connects the client, and starts the service. */
  static async start(
    client: OpenClient<RedisLockClient>,
    options: OpenLocksOptions = {},
  ): Promise<OpenLocks> {
    const open = OpenLocks.over(client, options);
    try {
      await client.connect();
      await open.locks.onModuleInit();
    } catch (error) {
      await open[Symbol.asyncDispose]();
      throw error;
    }
    return open;
  }

  /** Neither connected nor started. */
  static over(client: OpenClient<RedisLockClient>, options: OpenLocksOptions = {}): OpenLocks {
    const { redis, ...service } = options;
    const driver = new RedisLockDriver({ client: client.client, ...redis });
    return new OpenLocks(client, driver, new LockService({ driver, drainTimeout: 0, ...service }));
  }

  /** How often something happened. */
  count(type: LockEvent['type']): number {
    return this.events.filter((event) => event.type === type).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.locks[Symbol.asyncDispose]();
    await this.client.close();
  }
}
