import {
  BadRequestException,
  Body,
  type CanActivate,
  Controller,
  createParamDecorator,
  DefaultValuePipe,
  type ExecutionContext,
  Get,
  Headers,
  type INestApplication,
  Injectable,
  Param,
  ParseIntPipe,
  type PipeTransform,
  Post,
  Query,
  UseGuards,
} from '@nestjs/common';
import { currentLock, DistributedLockModule, lockKey, WithLock } from 'nestjs-distributed-lock';
import { TestLockDriver } from 'nestjs-distributed-lock/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HTTP_ADAPTER_NAMES, type HttpAnswer, request, serve } from '../../support/http.js';

class Order {
  constructor(
    readonly id: number,
    readonly customer: { readonly name: string },
  ) {}
}

@Injectable()
class OrderPipe implements PipeTransform<{ order?: string }, Order> {
  transform({ order }: { order?: string }): Order {
    if (order === undefined) {
      throw new BadRequestException('no order');
    }
    return new Order(Number(order), { name: `customer ${order}` });
  }
}

@Injectable()
class Nobody implements CanActivate {
  canActivate(): boolean {
    return false;
  }
}

const Tenant = createParamDecorator((_: unknown, context: ExecutionContext) => {
  const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
  return headers['x-tenant'];
});

const heldNow = (): string => currentLock()?.keys.join(' ') ?? 'no lock';

@Controller()
class OrdersController {
  @Get('parsed/:id')
  @WithLock('order:<0>')
  async parsed(@Param('id', ParseIntPipe) _id: number): Promise<string> {
    return heldNow();
  }

  @Get('defaulted')
  @WithLock('page:<0>')
  async defaulted(@Query('page', new DefaultValuePipe(1)) _page: number): Promise<string> {
    return heldNow();
  }

  @Post('piped')
  @WithLock('order:<0.id>:<0.customer.name>')
  async piped(@Body(OrderPipe) _order: Order): Promise<string> {
    return heldNow();
  }

  @Get('many/:from/:to')
  @WithLock(['account:<1>', 'account:<2>'])
  async many(
    @Tenant() _tenant: string,
    @Param('from') _from: string,
    @Param('to') _to: string,
  ): Promise<string> {
    return heldNow();
  }

  @Get('braces/:id')
  @WithLock('tenant:{0}/{1}')
  async braces(@Tenant() _tenant: string, @Param('id') _id: string): Promise<string> {
    return heldNow();
  }

  @Get('by-function/:id')
  @WithLock((tenant: string, id: string) => lockKey`tenant:${tenant}/${id}`)
  async byFunction(
    @Headers('x-tenant') _tenant: string,
    @Param('id') _id: string,
  ): Promise<string> {
    return heldNow();
  }

  @Get('guarded')
  @WithLock('guarded')
  @UseGuards(Nobody)
  async guarded(): Promise<string> {
    return heldNow();
  }

  @Get('skip')
  @WithLock('busy', { onBusy: 'skip' })
  async skip(): Promise<string | undefined> {
    return 'run';
  }

  @Get('instead/:id')
  @WithLock('busy', { onBusy: (id: string) => `${id} is being paid` })
  async instead(@Param('id') _id: string): Promise<string> {
    return 'run';
  }

  @Get('unavailable/:id')
  @WithLock('busy', { onUnavailable: async (id: string) => `${id} without a lock` })
  async unavailable(@Param('id') _id: string): Promise<string> {
    return 'run';
  }
}

describe.each(HTTP_ADAPTER_NAMES)('a locked handler on %s', (adapter) => {
  let driver: TestLockDriver;
  let app: INestApplication;

  beforeEach(() => {
    driver = new TestLockDriver();
  });

  afterEach(() => app.close());

  async function call(path: string, { method, body }: RequestInit = {}): Promise<HttpAnswer> {
    app = await serve(adapter, {
      imports: [DistributedLockModule.forRoot({ driver, wait: 0 })],
      controllers: [OrdersController],
    });
    return request(app, path, {
      method,
      body,
      headers: { 'x-tenant': 'acme', ...(body && { 'content-type': 'application/json' }) },
    });
  }

  it.each<[string, string, RequestInit?]>([
    ['parsed/007', 'order:7'],
    ['defaulted', 'page:1'],
    ['piped', 'order:7:customer%207', { method: 'POST', body: '{"order":"7"}' }],
    ['many/b/a', 'account:a account:b'],
    ['many/a/a', 'account:a'],
    ['braces/7', 'tenant:acme/7'],
    ['braces/a%2Fb', 'tenant:acme/a%2Fb'],
    ['by-function/7', 'tenant:acme/7'],
    ['by-function/a%2Fb', 'tenant:acme/a%2Fb'],
  ])('locks by what its method is really called with: %s', async (path, keys, init) => {
    expect((await call(path, init)).body).toBe(keys);
    expect(driver.list()).toEqual([]);
  });

  it('takes no lock when a guard says no', async () => {
    expect((await call('guarded')).status).toBe(403);
    expect(driver.calls).toEqual([]);
  });

  it.each<[string, RequestInit?]>([['parsed/seven'], ['piped', { method: 'POST', body: '{}' }]])(
    'takes no lock when a pipe says no: %s',
    async (path, init) => {
      expect((await call(path, init)).status).toBe(400);
      expect(driver.calls).toEqual([]);
    },
  );

  it("answers with nothing when it is busy and told to 'skip'", async () => {
    driver.busyNext();
    expect(await call('skip')).toMatchObject({ status: 200, body: '' });
  });

  it('answers with what onBusy makes of its arguments', async () => {
    driver.busyNext();
    expect(await call('instead/7')).toMatchObject({ status: 200, body: '7 is being paid' });
  });

  it('answers with what onUnavailable makes of its arguments', async () => {
    driver.failNext();
    expect(await call('unavailable/7')).toMatchObject({ status: 200, body: '7 without a lock' });
  });

  it('takes onUnavailable for a dead backend only', async () => {
    driver.busyNext();
    expect(await call('unavailable/7')).toMatchObject({ status: 423 });
  });

  it('takes onBusy for a busy lock only', async () => {
    driver.failNext();
    expect(await call('instead/7')).toMatchObject({ status: 503 });
  });

  it.each(['skip', 'instead/7', 'unavailable/7'])(
    'runs when the lock is free: %s',
    async (path) => {
      expect(await call(path)).toMatchObject({ status: 200, body: 'run' });
    },
  );
});
