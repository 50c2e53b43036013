import { Controller, type INestMicroservice, Inject, Logger } from '@nestjs/common';
import {
  type ClientProxy,
  EventPattern,
  type MicroserviceOptions,
  Payload,
} from '@nestjs/microservices';
import {
  DistributedLockModule,
  type DistributedLockModuleOptions,
  LockService,
  WithLock,
} from 'nestjs-distributed-lock';
import { TestLockDriver } from 'nestjs-distributed-lock/testing';
import { filter, firstValueFrom, lastValueFrom, Observable } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { uniqueName } from '../../support/http.js';
import { hasRedis, useRedis } from '../../support/redis/use-redis.js';
import { Stage } from '../../support/stage.js';
import {
  connect,
  connectTcp,
  listen,
  redisOptions,
  TCP_OPTIONS,
} from '../../support/transports.js';

const redis = useRedis();
// A broker may serve others too.
const run = uniqueName('events');

interface Order {
  readonly id: string;
}

type Orders = Record<string, Order>;

@Controller()
class OrderEvents {
  constructor(@Inject(Stage) private readonly stage: Stage) {}

  @EventPattern<Orders>(`${run}:promise`)
  @WithLock('order:<0.id>')
  promise(@Payload() _order: Order): Promise<string> {
    return this.stage.promise();
  }

  @WithLock('order:<0.id>')
  @EventPattern<Orders>(`${run}:observable`)
  observable(@Payload() _order: Order): Observable<string> {
    return this.stage.observable();
  }

  @EventPattern<Orders>(`${run}:skipping`)
  @WithLock('order:<0.id>', { onBusy: 'skip' })
  async skipping(@Payload() _order: Order): Promise<string | undefined> {
    return this.stage.promise();
  }
}

const TRANSPORTS: Record<
  string,
  {
    server: () => MicroserviceOptions;
    client: (server: INestMicroservice) => Promise<ClientProxy>;
  }
> = {
  TCP: { server: () => TCP_OPTIONS, client: connectTcp },
  Redis: { server: () => redisOptions(redis()), client: () => connect(redisOptions(redis())) },
};

const next = (locks: LockService, type: string): Promise<unknown> =>
  firstValueFrom(locks.events$.pipe(filter((event) => event.type === type)));

describe.each(Object.keys(TRANSPORTS))('an event over %s', (name) => {
  let driver: TestLockDriver;
  let stage: Stage;
  let app: INestMicroservice;
  let client: ClientProxy;
  let logged: unknown[];

  beforeEach(({ skip }) => {
    skip(name === 'Redis' && !hasRedis, 'there is no Redis server');
    driver = new TestLockDriver();
    stage = new Stage();
    logged = [];
    vi.spyOn(Logger.prototype, 'error').mockImplementation((...args: unknown[]) => {
      logged.push(...args);
    });
  });

  afterEach(async () => {
    await client?.close();
    await app?.close();
    vi.restoreAllMocks();
  });

  async function start(options: Partial<DistributedLockModuleOptions> = {}): Promise<LockService> {
    const { server, client: connectTo } = TRANSPORTS[name]!;
    app = await listen(server(), {
      imports: [DistributedLockModule.forRoot({ driver, ...options })],
      controllers: [OrderEvents],
      providers: [{ provide: Stage, useValue: stage }],
    });
    client = await connectTo(app);
    return app.get(LockService);
  }

  const emit = (kind: string, id = '7'): Promise<unknown> =>
    lastValueFrom(client.emit(`${run}:${kind}`, { id }), { defaultValue: undefined });

  const heldKeys = (): string[] => driver.list().map(({ key }) => key);

  it.each(['promise', 'observable'])('is handled alone: %s', async (kind) => {
    const locks = await start();
    await emit(kind);
    const act = await stage.acts.next();
    expect(act.lock?.keys).toEqual(['order:7']);
    const waits = next(locks, 'waiting');
    await emit(kind);
    await waits;
    await emit(kind, '8');
    const other = await stage.acts.next();
    expect(heldKeys().toSorted()).toEqual(['order:7', 'order:8']);
    other.finish('done');
    act.finish('done');
    const second = await stage.acts.next();
    const released = next(locks, 'released');
    second.finish('done');
    await released;
    expect(stage.begun).toBe(3);
    expect(heldKeys()).toEqual([]);
  });

  it.each(['promise', 'observable'])(
    'is dropped when the lock is busy: it is logged, not sent again, and its sender is not told: %s',
    async (kind) => {
      const locks = await start({ wait: 0 });
      const lock = await new LockService(driver).acquire('order:7');
      const busy = next(locks, 'busy');
      await expect(emit(kind)).resolves.toBeUndefined();
      await busy;
      await lock.release();
      await emit(kind);
      (await stage.acts.next()).finish('done');
      await vi.waitFor(() => expect(heldKeys()).toEqual([]));
      expect(stage.begun).toBe(1);
      expect(logged).toEqual([expect.objectContaining({ code: 'LOCK_TIMEOUT' })]);
    },
  );

  it('is dropped and logged when the backend is down', async () => {
    await start({ wait: 0 });
    driver.failNext();
    await expect(emit('promise')).resolves.toBeUndefined();
    await vi.waitFor(() => expect(driver.calls.length).toBeGreaterThan(0));
    await emit('promise');
    (await stage.acts.next()).finish('done');
    await vi.waitFor(() => expect(heldKeys()).toEqual([]));
    expect(stage.begun).toBe(1);
    expect(logged).toEqual([expect.objectContaining({ code: 'LOCK_DRIVER' })]);
  });

  it('tells its handler that the lock is lost', async () => {
    const locks = await start();
    await emit('promise');
    const act = await stage.acts.next();
    await locks.forceRelease('order:7');
    expect(act.lock?.signal.aborted).toBe(true);
    act.finish('too late');
    await emit('promise');
    (await stage.acts.next()).finish('done');
    await vi.waitFor(() => expect(heldKeys()).toEqual([]));
  });

  it('is left to the other when its handler skips what is busy', async () => {
    const locks = await start();
    await emit('skipping');
    const act = await stage.acts.next();
    const busy = next(locks, 'busy');
    await emit('skipping');
    await busy;
    act.finish('done');
    await vi.waitFor(() => expect(heldKeys()).toEqual([]));
    expect(stage.begun).toBe(1);
    expect(logged).toEqual([]);
  });
});
