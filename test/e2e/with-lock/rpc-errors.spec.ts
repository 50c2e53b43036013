import {
  Catch,
  Controller,
  type ExceptionFilter,
  type INestMicroservice,
  Inject,
  Injectable,
  Logger,
  type ModuleMetadata,
  UseFilters,
} from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { type ClientProxy, MessagePattern, RpcException } from '@nestjs/microservices';
import {
  DistributedLockModule,
  type DistributedLockModuleOptions,
  LockTimeoutError,
  WithLock,
} from 'nestjs-distributed-lock';
import { TestLockDriver } from 'nestjs-distributed-lock/testing';
import { from, lastValueFrom, Observable, throwError } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { connectTcp, listen, TCP_OPTIONS } from '../../support/transports.js';

@Injectable()
class OrdersService {
  @WithLock('order:<0>')
  async pay(_id: string): Promise<string> {
    return 'paid';
  }

  @WithLock('order:<0>')
  watch(_id: string): Observable<string> {
    return from(['paid']);
  }
}

@Catch(LockTimeoutError)
class BusyFilter implements ExceptionFilter<LockTimeoutError> {
  catch(error: LockTimeoutError): Observable<never> {
    return throwError(() => ({ mine: error instanceof LockTimeoutError, keys: error.keys }));
  }
}

@Controller()
class OrdersController {
  constructor(@Inject(OrdersService) private readonly orders: OrdersService) {}

  @MessagePattern('locked')
  @WithLock('order:<0>')
  async locked(_id: string): Promise<string> {
    return 'paid';
  }

  @MessagePattern('observed')
  @WithLock('order:<0>')
  observed(_id: string): Observable<string> {
    return from(['paid']);
  }

  @MessagePattern('by-service')
  byService(id: string): Promise<string> {
    return this.orders.pay(id);
  }

  @MessagePattern('by-observable')
  byObservable(id: string): Observable<string> {
    return this.orders.watch(id);
  }

  @MessagePattern('filtered')
  @UseFilters(BusyFilter)
  @WithLock('order:<0>')
  async filtered(_id: string): Promise<string> {
    return 'paid';
  }

  @MessagePattern('filtered-by-service')
  @UseFilters(BusyFilter)
  filteredByService(id: string): Promise<string> {
    return this.orders.pay(id);
  }
}

const LAYERS = ['locked', 'observed', 'by-service', 'by-observable'];
const mine = { mine: true, keys: ['order:7'] };

describe('a message', () => {
  let driver: TestLockDriver;
  let app: INestMicroservice;
  let client: ClientProxy;

  beforeEach(() => {
    driver = new TestLockDriver();
    vi.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  });

  afterEach(async () => {
    await client.close();
    await app.close();
    vi.restoreAllMocks();
  });

  async function start(
    options: Partial<DistributedLockModuleOptions> = {},
    { providers = [] }: ModuleMetadata = {},
  ): Promise<void> {
    app = await listen(TCP_OPTIONS, {
      imports: [DistributedLockModule.forRoot({ driver, wait: 0, ...options })],
      controllers: [OrdersController],
      providers: [OrdersService, ...providers],
    });
    client = await connectTcp(app);
  }

  const send = (pattern: string): Promise<unknown> => lastValueFrom(client.send(pattern, '7'));

  it.each(LAYERS)('is answered when the lock is free: %s', async (layer) => {
    await start();
    expect(await send(layer)).toBe('paid');
  });

  it.each(LAYERS)('is answered with LOCK_TIMEOUT when the lock is busy: %s', async (layer) => {
    await start();
    driver.busyNext();
    await expect(send(layer)).rejects.toEqual({
      statusCode: 423,
      code: 'LOCK_TIMEOUT',
      message: expect.not.stringContaining('order'),
    });
  });

  it.each(LAYERS)('is answered with LOCK_DRIVER when the backend is down: %s', async (layer) => {
    await start();
    driver.failNext(1, { error: new Error('ECONNREFUSED 10.0.0.7') });
    await expect(send(layer)).rejects.toEqual({
      statusCode: 503,
      code: 'LOCK_DRIVER',
      message: expect.not.stringContaining('10.0.0.7'),
    });
  });

  it.each(['filtered', 'filtered-by-service'])(
    "is answered by a user's own filter on the method: %s",
    async (pattern) => {
      await start();
      driver.busyNext();
      await expect(send(pattern)).rejects.toEqual(mine);
    },
  );

  it.each(['locked', 'by-service'])(
    "is answered by a user's own filter as APP_FILTER: %s",
    async (pattern) => {
      await start({}, { providers: [{ provide: APP_FILTER, useClass: BusyFilter }] });
      driver.busyNext();
      await expect(send(pattern)).rejects.toEqual(mine);
    },
  );

  it.each(['locked', 'by-service'])(
    'is answered in the way of Nest where mapErrors is false: %s',
    async (pattern) => {
      await start({ mapErrors: false });
      driver.busyNext();
      await expect(send(pattern)).rejects.toEqual({
        status: 'error',
        message: 'Internal server error',
      });
    },
  );

  it.each(['locked', 'by-service'])(
    'is answered with what mapErrors makes of the error: %s',
    async (pattern) => {
      await start({
        mapErrors: (error, host) => new RpcException({ type: host.getType(), busy: error.key }),
      });
      driver.busyNext();
      await expect(send(pattern)).rejects.toEqual({ type: 'rpc', busy: 'order:7' });
    },
  );
});
