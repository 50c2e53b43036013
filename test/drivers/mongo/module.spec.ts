import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { MongoClient } from 'mongodb';
import { DistributedLockModule, LockService, WithLock } from 'nestjs-distributed-lock';
import { MongoLockDriver } from 'nestjs-distributed-lock/mongo';
import { afterEach, describe, expect, it } from 'vitest';
import { useMongo } from '../../support/mongo-server.js';

const mongo = useMongo();
const apps: TestingModule[] = [];

@Injectable()
class Counter {
  static value = 0;

  @WithLock('counter:<0>', { wait: Infinity })
  async increment(_id: string): Promise<void> {
    const { value } = Counter;
    await new Promise((resolve) => void setTimeout(resolve, 1));
    Counter.value = value + 1;
  }
}

/** Closes the client after the locks, as an application would. */
@Module({
  providers: [{ provide: MongoClient, useFactory: () => MongoClient.connect(mongo.url) }],
  exports: [MongoClient],
})
class ClientModule {
  constructor(private readonly client: MongoClient) {}

  onApplicationShutdown(): Promise<void> {
    return this.client.close();
  }
}

async function boot(): Promise<TestingModule> {
  const app = await Test.createTestingModule({
    imports: [
      DistributedLockModule.forRootAsync({
        imports: [ClientModule],
        inject: [MongoClient],
        useFactory: (client: MongoClient) => ({
          driver: new MongoLockDriver({ db: client.db(mongo.database), collection: 'module' }),
        }),
      }),
    ],
    providers: [Counter],
  }).compile();
  await app.init();
  apps.push(app);
  return app;
}

afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
});

describe(`an application with MongoLockDriver, on ${mongo.label}`, () => {
  it('excludes its other instances', { timeout: 60_000 }, async () => {
    const counters = [await boot(), await boot()].map((app) => app.get(Counter));
    const increment = async (counter: Counter): Promise<void> => {
      for (let i = 0; i < 30; i++) {
        await counter.increment('a');
      }
    };
    await Promise.all(counters.map(increment));
    expect(Counter.value).toBe(60);
  });

  it(
    'shuts down while others wait for its lock, and they get it',
    { timeout: 60_000 },
    async () => {
      const [first, second] = [await boot(), await boot()];
      const lock = await first.get(LockService).acquire('k', { ttl: '10m' });
      const waiting = second.get(LockService).acquire('k', { wait: Infinity });
      const closing = first.close();
      await lock.release();
      await closing;
      apps.splice(apps.indexOf(first), 1);
      expect(await (await waiting).release()).toBe(true);
    },
  );
});
