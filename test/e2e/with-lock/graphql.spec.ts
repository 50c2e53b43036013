import { Inject, Injectable, type INestApplication, Logger, UseInterceptors } from '@nestjs/common';
import {
  Args,
  Field,
  GraphQLModule,
  Int,
  Mutation,
  ObjectType,
  Parent,
  Query,
  ResolveField,
  Resolver,
} from '@nestjs/graphql';
import { MercuriusDriver, type MercuriusDriverConfig } from '@nestjs/mercurius';
import {
  currentLock,
  DistributedLockModule,
  type DistributedLockModuleOptions,
  LockService,
  WithLock,
} from 'nestjs-distributed-lock';
import { TestLockDriver } from 'nestjs-distributed-lock/testing';
import { filter, firstValueFrom, Observable } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { request, serve } from '../../support/http.js';
import { Stage } from '../../support/stage.js';
import { journal, JournalDriver, PlainTransaction } from './support/transactions.js';

@Injectable()
class StockService {
  @WithLock('item:<0>')
  async left(_id: number): Promise<number> {
    return 5;
  }
}

@Resolver()
class ItemsResolver {
  constructor(
    @Inject(Stage) private readonly stage: Stage,
    @Inject(StockService) private readonly stock: StockService,
  ) {}

  @Mutation(() => String)
  @WithLock('item:<0>')
  buy(@Args('id', { type: () => Int }) _id: number): Promise<string> {
    return this.stage.promise();
  }

  @WithLock('item:<0>')
  @Mutation(() => String)
  @UseInterceptors(PlainTransaction)
  watch(@Args('id', { type: () => Int }) _id: number): Observable<string> {
    return this.stage.observable();
  }

  @Query(() => Int)
  left(@Args('id', { type: () => Int }) id: number): Promise<number> {
    return this.stock.left(id);
  }

  @Query(() => Int)
  @WithLock('item:<0>')
  @UseInterceptors(PlainTransaction)
  async stock5(@Args('id', { type: () => Int }) _id: number): Promise<number> {
    return 5;
  }
}

@ObjectType()
class Order {
  @Field(() => Int)
  id!: number;
}

@Resolver(() => Order)
class OrdersResolver {
  @Query(() => Order)
  order(@Args('id', { type: () => Int }) id: number): Order {
    return { id };
  }

  @ResolveField(() => String)
  @WithLock('order:<0.id>')
  @UseInterceptors(PlainTransaction)
  async holder(@Parent() _order: Order): Promise<string> {
    return currentLock()?.keys.join() ?? 'nobody';
  }
}

interface GraphQLAnswer {
  readonly data: Record<string, unknown> | null;
  readonly errors?: readonly { message: string; extensions?: Record<string, unknown> }[];
}

describe('a GraphQL resolver', () => {
  let driver: TestLockDriver;
  let stage: Stage;
  let app: INestApplication;

  beforeEach(() => {
    driver = new JournalDriver();
    stage = new Stage();
    journal.length = 0;
    vi.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  });

  afterEach(async () => {
    await app.close();
    vi.restoreAllMocks();
  });

  async function start(options: Partial<DistributedLockModuleOptions> = {}): Promise<LockService> {
    app = await serve('Fastify', {
      imports: [
        DistributedLockModule.forRoot({ driver, ...options }),
        GraphQLModule.forRoot<MercuriusDriverConfig>({
          driver: MercuriusDriver,
          autoSchemaFile: true,
        }),
      ],
      providers: [{ provide: Stage, useValue: stage }, StockService, ItemsResolver, OrdersResolver],
    });
    return app.get(LockService);
  }

  async function ask(query: string): Promise<GraphQLAnswer> {
    const { body } = await request(app, 'graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    return body as GraphQLAnswer;
  }

  it.each(['buy', 'watch'])('runs alone, and holds the lock to its end: %s', async (field) => {
    const locks = await start();
    const first = ask(`mutation { ${field}(id: 7) }`);
    const act = await stage.acts.next();
    expect(act.lock?.keys).toEqual(['item:7']);
    act.emit('one');
    const waits = firstValueFrom(locks.events$.pipe(filter(({ type }) => type === 'waiting')));
    const second = ask(`mutation { ${field}(id: 7) }`);
    await waits;
    expect(stage.running).toBe(1);
    act.complete();
    expect(await first).toEqual({ data: { [field]: 'one' } });
    (await stage.acts.next()).finish('two');
    expect(await second).toEqual({ data: { [field]: 'two' } });
    expect(driver.list()).toEqual([]);
  });

  it('holds the lock until the commit', async () => {
    await start();
    expect(await ask('{ stock5(id: 7) }')).toEqual({ data: { stock5: 5 } });
    expect(journal).toEqual(['lock item:7', 'commit', 'unlock item:7']);
  });

  it.each(['mutation { buy(id: 7) }', 'mutation { watch(id: 7) }', '{ left(id: 7) }'])(
    'tells of a busy lock by extensions.code, and not of its key: %s',
    async (query) => {
      await start({ wait: 0 });
      driver.busyNext();
      const { errors } = await ask(query);
      expect(errors).toHaveLength(1);
      expect(errors?.[0]?.extensions).toMatchObject({ code: 'LOCK_TIMEOUT' });
      expect(JSON.stringify(errors)).not.toContain('item:7');
      expect(stage.begun).toBe(0);
    },
  );

  it.each(['mutation { buy(id: 7) }', '{ left(id: 7) }'])(
    'tells of a dead backend by extensions.code: %s',
    async (query) => {
      await start({ wait: 0 });
      driver.failNext(1, { error: new Error('ECONNREFUSED 10.0.0.7') });
      const { errors } = await ask(query);
      expect(errors?.[0]?.extensions).toMatchObject({ code: 'LOCK_DRIVER' });
      expect(JSON.stringify(errors)).not.toContain('10.0.0.7');
    },
  );

  it('tells of a lock that was lost', async () => {
    const locks = await start();
    const lost = ask('mutation { buy(id: 7) }');
    const act = await stage.acts.next();
    await locks.forceRelease('item:7');
    expect(act.lock?.signal.aborted).toBe(true);
    act.finish('too late');
    expect((await lost).errors?.[0]?.extensions).toMatchObject({ code: 'LOCK_LOST' });
  });

  it('locks a field as it locks a service, where Nest calls no interceptors', async () => {
    await start({ wait: 0 });
    expect(await ask('{ order(id: 7) { id holder } }')).toEqual({
      data: { order: { id: 7, holder: 'order:7' } },
    });
    expect(journal).toEqual(['lock order:7', 'unlock order:7']);
    driver.busyNext();
    expect((await ask('{ order(id: 7) { holder } }')).errors).toHaveLength(1);
  });

  it('leaves errors of its own as they are', async () => {
    await start();
    const failed = ask('mutation { buy(id: 7) }');
    (await stage.acts.next()).fail(new Error('out of stock'));
    expect((await failed).errors).toMatchObject([{ message: 'out of stock' }]);
    expect(driver.list()).toEqual([]);
  });
});
