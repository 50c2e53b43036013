import {
  Controller,
  forwardRef,
  Get,
  type INestApplication,
  type INestApplicationContext,
  Inject,
  Injectable,
  Module,
} from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  DistributedLockModule,
  type LockDriver,
  LockService,
  MemoryLockDriver,
  WithLock,
} from 'nestjs-distributed-lock';
import { TestLockDriver } from 'nestjs-distributed-lock/testing';
import { Observable, of } from 'rxjs';
import { afterEach, describe, expect, it } from 'vitest';
import { request, serve } from '../../support/http.js';
import { boot } from '../module/support.js';

/** A type that leaves nothing for the decorator to see. */
type Answers = Observable<string>;

@Injectable()
class OrdersService {
  @WithLock('order:<0>')
  async pay(id: string): Promise<string> {
    return `paid ${id}`;
  }

  @WithLock('order:<0>', { returns: 'observable' })
  told(id: string): Answers & object {
    return of(`paid ${id}`);
  }

  @WithLock('order:<0>')
  untold(id: string): Answers & object {
    return of(`paid ${id}`);
  }
}

@Controller()
class OrdersController {
  @Get()
  @WithLock('orders')
  untold(): Answers & object {
    return of('all of them');
  }
}

@Controller()
class BillingController {
  @Get()
  @WithLock('bill', { service: 'billing' })
  async bill(): Promise<string> {
    return 'sent';
  }
}

let app: INestApplicationContext | INestApplication | undefined;

afterEach(async () => {
  await app?.close();
  app = undefined;
});

describe('a method whose return type tells nothing', () => {
  it('returns an observable if `returns` says so', async () => {
    const driver = new TestLockDriver();
    app = await boot({
      imports: [DistributedLockModule.forRoot(driver)],
      providers: [OrdersService],
    });
    const held: unknown[] = [];
    const values: string[] = [];
    await app
      .get(OrdersService)
      .told('7')
      .forEach((value) => {
        values.push(value);
        held.push(driver.list().map(({ key }) => key));
      });
    expect(values).toEqual(['paid 7']);
    expect(held).toEqual([['order:7']]);
    expect(driver.list()).toEqual([]);
  });

  it('is refused in a service if it returns an observable, by class, method and option', async () => {
    const driver = new TestLockDriver();
    app = await boot({
      imports: [DistributedLockModule.forRoot(driver)],
      providers: [OrdersService],
    });
    const refused: unknown = app.get(OrdersService).untold('7');
    await expect(refused).rejects.toMatchObject({
      code: 'LOCK_CONFIG',
      message: expect.stringMatching(/OrdersService\.untold.*returns/s),
    });
    expect(driver.list()).toEqual([]);
  });

  it('is followed in a handler', async () => {
    const driver = new TestLockDriver();
    app = await serve('Express', {
      imports: [DistributedLockModule.forRoot(driver)],
      controllers: [OrdersController],
    });
    expect(await request(app as INestApplication, '/')).toMatchObject({
      status: 200,
      body: 'all of them',
    });
    expect(driver.list()).toEqual([]);
  });
});

describe('an application', () => {
  it('may have a named instance only', async () => {
    const driver = new TestLockDriver();
    app = await serve('Fastify', {
      imports: [DistributedLockModule.forRoot({ driver, name: 'billing' })],
      controllers: [BillingController],
    });
    expect((await request(app as INestApplication, '/')).body).toBe('sent');
    expect(driver.calls).not.toEqual([]);
  });

  it('does not boot without the module: the message names the controller and LockService', async () => {
    const served = serve('Express', { controllers: [OrdersController] });
    await expect(served).rejects.toThrow(/OrdersController.*LockService/s);
  });

  it('may have locked classes that need each other', async () => {
    @Injectable()
    class Hen {
      constructor(@Inject(forwardRef(() => Egg)) readonly egg: { hatch(): Promise<string> }) {}

      @WithLock('hen')
      async lay(): Promise<string> {
        return this.egg.hatch();
      }
    }

    @Injectable()
    class Egg {
      constructor(@Inject(forwardRef(() => Hen)) readonly hen: object) {}

      @WithLock('egg')
      async hatch(): Promise<string> {
        return 'a chick';
      }
    }

    app = await boot({
      imports: [DistributedLockModule.forRoot(new MemoryLockDriver())],
      providers: [Hen, Egg],
    });
    await expect(app.get(Hen).lay()).resolves.toBe('a chick');
  });

  it('says so when its driver needs a class that needs the driver', async () => {
    @Module({ providers: [OrdersService], exports: [OrdersService] })
    class OrdersModule {}

    const made = boot({
      imports: [
        DistributedLockModule.forRootAsync({
          imports: [OrdersModule],
          inject: [OrdersService],
          useFactory: (): LockDriver => new MemoryLockDriver(),
        }),
      ],
    });
    await expect(made).rejects.toThrow(/circular/i);
  });
});

describe('a test module', () => {
  it('may override LockService', async () => {
    const driver = new TestLockDriver();
    driver.busyNext();
    const testing = await Test.createTestingModule({
      imports: [DistributedLockModule.forRoot(new MemoryLockDriver())],
      providers: [OrdersService],
    })
      .overrideProvider(LockService)
      .useValue(new LockService({ driver, wait: 0 }))
      .compile();
    app = await testing.init();
    const orders = testing.get(OrdersService);
    await expect(orders.pay('7')).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
    await expect(orders.pay('7')).resolves.toBe('paid 7');
  });

  it('that mocks LockService by an empty object is told what is wrong', async () => {
    const testing = await Test.createTestingModule({ providers: [OrdersService] })
      .useMocker(() => ({}))
      .compile();
    app = await testing.init();
    await expect(testing.get(OrdersService).pay('7')).rejects.toMatchObject({
      code: 'LOCK_CONFIG',
      message: expect.stringContaining('OrdersService.pay'),
    });
  });
});
