import {
  Controller,
  Get,
  HttpException,
  type INestApplication,
  Inject,
  Injectable,
  Logger,
  Param,
} from '@nestjs/common';
import {
  DistributedLockModule,
  type DistributedLockModuleOptions,
  type LockHandle,
  LockService,
  WithLock,
} from 'nestjs-distributed-lock';
import { TestLockDriver } from 'nestjs-distributed-lock/testing';
import { firstValueFrom, from, Observable } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HTTP_ADAPTER_NAMES, request, serve } from '../../support/http.js';

const body = vi.fn<(id: string) => Promise<string>>();

@Injectable()
class OrdersService {
  @WithLock('order:<0>')
  pay(id: string): Promise<string> {
    return body(id);
  }

  @WithLock('order:<0>')
  watch(id: string): Observable<string> {
    return from(body(id));
  }
}

@Controller()
class OrdersController {
  constructor(@Inject(OrdersService) private readonly orders: OrdersService) {}

  @Get('locked/:id')
  @WithLock('order:<0>')
  locked(@Param('id') id: string): Promise<string> {
    return body(id);
  }

  @Get('observed/:id')
  @WithLock('order:<0>')
  observed(@Param('id') id: string): Observable<string> {
    return from(body(id));
  }

  @Get('by-service/:id')
  byService(@Param('id') id: string): Promise<string> {
    return this.orders.pay(id);
  }

  @Get('by-observable/:id')
  byObservable(@Param('id') id: string): Observable<string> {
    return this.orders.watch(id);
  }

  @Get('by-awaiting/:id')
  async byAwaiting(@Param('id') id: string): Promise<string> {
    return `${await firstValueFrom(this.orders.watch(id))}!`;
  }

  @Get('keyless')
  @WithLock('order:<0>')
  keyless(@Param('id') id: string): Promise<string> {
    return body(id);
  }
}

const LAYERS = ['locked', 'observed', 'by-service', 'by-observable', 'by-awaiting'];

describe.each(HTTP_ADAPTER_NAMES)('on %s', (adapter) => {
  let driver: TestLockDriver;
  let app: INestApplication | undefined;

  beforeEach(() => {
    driver = new TestLockDriver();
    body.mockReset().mockResolvedValue('paid');
    vi.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  });

  afterEach(async () => {
    await app?.close();
    app = undefined;
    vi.restoreAllMocks();
  });

  async function start(options?: Partial<DistributedLockModuleOptions>): Promise<INestApplication> {
    app = await serve(adapter, {
      imports: [DistributedLockModule.forRoot({ driver, wait: 0, ...options })],
      controllers: [OrdersController],
      providers: [OrdersService],
    });
    return app;
  }

  /** The lock in the hands of another process. */
  function holdElsewhere(ttl: number): Promise<LockHandle> {
    return new LockService(driver).acquire('order:7', { ttl, autoExtend: false });
  }

  it('a lock that is free is no hindrance, in any layer', async () => {
    const there = await start();
    for (const layer of LAYERS) {
      expect(await request(there, `${layer}/7`)).toMatchObject({ status: 200 });
    }
    expect(body).toHaveBeenCalledTimes(LAYERS.length);
  });

  it.each(LAYERS)('a busy lock is 423 LOCK_TIMEOUT, in the layer %s', async (layer) => {
    const there = await start();
    await holdElsewhere(20_000);
    const { status, headers, body: answer } = await request(there, `${layer}/7`);
    expect(status).toBe(423);
    expect(answer).toEqual({
      statusCode: 423,
      code: 'LOCK_TIMEOUT',
      message: expect.not.stringContaining('order'),
    });
    expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(body).not.toHaveBeenCalled();
  });

  it.each(LAYERS)('a dead backend is 503 LOCK_DRIVER, in the layer %s', async (layer) => {
    const there = await start();
    driver.failNext(Infinity, { error: new Error('ECONNREFUSED 10.0.0.7') });
    const { status, headers, body: answer } = await request(there, `${layer}/7`);
    expect(status).toBe(503);
    expect(answer).toEqual({ statusCode: 503, code: 'LOCK_DRIVER', message: expect.any(String) });
    expect(JSON.stringify(answer)).not.toMatch(/order|10\.0\.0\.7/);
    expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(body).not.toHaveBeenCalled();
  });

  it('Retry-After says for how long the holder may keep the lock, in whole seconds', async () => {
    const there = await start();
    await holdElsewhere(20_000);
    const { headers } = await request(there, 'locked/7');
    expect(headers.get('retry-after')).toMatch(/^(19|20)$/);
  });

  it('Retry-After is at least one second', async () => {
    const there = await start();
    driver.busyNext(1, { retryAfter: 3 });
    const { headers } = await request(there, 'locked/7');
    expect(headers.get('retry-after')).toBe('1');
  });

  it('a key that cannot be made is 400 LOCK_KEY, and there is no hint to try again', async () => {
    const { status, headers, body: answer } = await request(await start(), 'keyless');
    expect(status).toBe(400);
    expect(answer).toMatchObject({ statusCode: 400, code: 'LOCK_KEY' });
    expect(headers.has('retry-after')).toBe(false);
    expect(body).not.toHaveBeenCalled();
  });

  it('too many who wait are 503 LOCK_QUEUE_FULL', async () => {
    const there = await start({ wait: 60_000, maxWaiters: 1 });
    const lock = await holdElsewhere(60_000);
    const waiting = firstValueFrom(there.get(LockService).events$);
    const waiter = request(there, 'by-service/7');
    await waiting;
    const { status, headers, body: answer } = await request(there, 'by-service/7');
    expect(status).toBe(503);
    expect(answer).toMatchObject({ code: 'LOCK_QUEUE_FULL' });
    expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    await lock.release();
    expect((await waiter).status).toBe(200);
  });

  it('an error of the method itself is not touched', async () => {
    const there = await start();
    body.mockRejectedValue(new HttpException('teapot', 418));
    for (const layer of LAYERS) {
      expect(await request(there, `${layer}/7`)).toMatchObject({ status: 418 });
    }
    expect(driver.list()).toEqual([]);
  });

  it('locked and plain callers of one key keep each other out', async () => {
    const there = await start();
    const entered = vi.fn<() => void>();
    body.mockImplementationOnce(async () => {
      entered();
      const { status } = await request(there, 'by-service/7');
      return `the other got ${status}`;
    });
    expect((await request(there, 'locked/7')).body).toBe('the other got 423');
    expect(entered).toHaveBeenCalledOnce();
  });
});
