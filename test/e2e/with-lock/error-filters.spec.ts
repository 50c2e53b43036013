import {
  type ArgumentsHost,
  type CanActivate,
  Catch,
  Controller,
  type ExceptionFilter,
  Get,
  HttpException,
  type INestApplication,
  Inject,
  Injectable,
  type ModuleMetadata,
  Module,
  type Provider,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { APP_FILTER, HttpAdapterHost } from '@nestjs/core';
import {
  DistributedLockModule,
  type DistributedLockModuleOptions,
  LockError,
  LockExceptionFilter,
  LockTimeoutError,
  WithLock,
} from 'nestjs-distributed-lock';
import { TestLockDriver } from 'nestjs-distributed-lock/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HTTP_ADAPTER_NAMES, type HttpAnswer, request, serve } from '../../support/http.js';

@Injectable()
class OrdersService {
  @WithLock('order')
  async pay(): Promise<string> {
    return 'paid';
  }
}

/** What a user writes to answer busy locks in a way of their own. */
@Catch(LockTimeoutError)
class BusyFilter implements ExceptionFilter<LockTimeoutError> {
  constructor(@Inject(HttpAdapterHost) private readonly host: HttpAdapterHost) {}

  catch(error: LockTimeoutError, host: ArgumentsHost): void {
    const answer = { mine: error instanceof LockTimeoutError, keys: error.keys };
    this.host.httpAdapter.reply(host.switchToHttp().getResponse(), answer, 409);
  }
}

@Controller('plain')
class PlainController {
  constructor(@Inject(OrdersService) private readonly orders: OrdersService) {}

  @Get('locked')
  @WithLock('order')
  async locked(): Promise<string> {
    return 'paid';
  }

  @Get('by-service')
  byService(): Promise<string> {
    return this.orders.pay();
  }
}

@Controller('method')
class MethodController {
  constructor(@Inject(OrdersService) private readonly orders: OrdersService) {}

  @Get('locked')
  @UseFilters(BusyFilter)
  @WithLock('order')
  async locked(): Promise<string> {
    return 'paid';
  }

  @Get('locked-above')
  @WithLock('order')
  @UseFilters(BusyFilter)
  async lockedAbove(): Promise<string> {
    return 'paid';
  }

  @Get('by-service')
  @UseFilters(BusyFilter)
  byService(): Promise<string> {
    return this.orders.pay();
  }
}

@Injectable()
class LockedGuard implements CanActivate {
  constructor(@Inject(OrdersService) private readonly orders: OrdersService) {}

  async canActivate(): Promise<boolean> {
    await this.orders.pay();
    return true;
  }
}

@Controller('guarded')
class GuardedController {
  @Get()
  @UseGuards(LockedGuard)
  @UseFilters(LockExceptionFilter)
  guarded(): string {
    return 'let in';
  }
}

@Controller('controller')
@UseFilters(BusyFilter)
class FilteredController extends PlainController {}

const mine = { status: 409, body: { mine: true, keys: ['order'] } };
const mapped = { status: 423, body: { code: 'LOCK_TIMEOUT' } };

describe.each(HTTP_ADAPTER_NAMES)('on %s', (adapter) => {
  let driver: TestLockDriver;
  let app: INestApplication | undefined;

  beforeEach(() => {
    driver = new TestLockDriver();
  });

  afterEach(async () => {
    await app?.close();
    app = undefined;
  });

  async function start(
    options: Partial<DistributedLockModuleOptions> = {},
    { providers = [], ...metadata }: ModuleMetadata = {},
    prepare?: (app: INestApplication) => unknown,
  ): Promise<void> {
    const { imports = [], ...own } = metadata;
    app = await serve(
      adapter,
      {
        imports: [DistributedLockModule.forRoot({ driver, wait: 0, ...options }), ...imports],
        controllers: [PlainController, MethodController, FilteredController, GuardedController],
        providers: [OrdersService, BusyFilter, ...providers],
        ...own,
      },
      prepare,
    );
  }

  async function whenBusy(path: string): Promise<HttpAnswer> {
    driver.busyNext();
    return request(app as INestApplication, path);
  }

  describe("a user's own filter wins", () => {
    it.each(['method/locked', 'method/locked-above', 'method/by-service'])(
      'on the method: %s',
      async (path) => {
        await start();
        expect(await whenBusy(path)).toMatchObject(mine);
      },
    );

    it.each(['controller/locked', 'controller/by-service'])(
      'on the controller: %s',
      async (path) => {
        await start();
        expect(await whenBusy(path)).toMatchObject(mine);
      },
    );

    it.each(['plain/locked', 'plain/by-service'])('by useGlobalFilters: %s', async (path) => {
      await start({}, {}, (server) => server.useGlobalFilters(server.get(BusyFilter)));
      expect(await whenBusy(path)).toMatchObject(mine);
    });

    const asAppFilter: Provider = { provide: APP_FILTER, useClass: BusyFilter };

    it.each(['plain/locked', 'plain/by-service'])('as APP_FILTER of the root: %s', async (path) => {
      await start({}, { providers: [asAppFilter] });
      expect(await whenBusy(path)).toMatchObject(mine);
    });

    it.each(['plain/locked', 'plain/by-service'])(
      'as APP_FILTER of another module: %s',
      async (path) => {
        @Module({ providers: [asAppFilter] })
        class FiltersModule {}

        await start({}, { imports: [FiltersModule] });
        expect(await whenBusy(path)).toMatchObject(mine);
      },
    );

    it('and leaves the other errors to us', async () => {
      await start();
      driver.failNext();
      expect(await request(app as INestApplication, 'method/locked')).toMatchObject({
        status: 503,
        body: { code: 'LOCK_DRIVER' },
      });
    });
  });

  describe("a user's filter for everything", () => {
    @Catch()
    class CatchAll extends BusyFilter {}

    it.each(['plain/locked', 'plain/by-service'])('gets the LockError itself: %s', async (path) => {
      await start({}, {}, (server) =>
        server.useGlobalFilters(new CatchAll(server.get(HttpAdapterHost))),
      );
      expect(await whenBusy(path)).toMatchObject(mine);
    });
  });

  describe('LockExceptionFilter', () => {
    it('can be put where a user wants it', async () => {
      await start({ mapErrors: false }, {}, (server) =>
        server.useGlobalFilters(new LockExceptionFilter(server.get(HttpAdapterHost).httpAdapter)),
      );
      expect(await whenBusy('plain/by-service')).toMatchObject(mapped);
    });

    it('can be an APP_FILTER', async () => {
      const provider = { provide: APP_FILTER, useClass: LockExceptionFilter };
      await start({ mapErrors: false }, { providers: [provider] });
      expect(await whenBusy('plain/locked')).toMatchObject(mapped);
    });

    it('answers for guards too, which no interceptor sees', async () => {
      await start();
      expect(await whenBusy('guarded')).toMatchObject(mapped);
    });
  });

  describe('mapErrors', () => {
    it.each(['plain/locked', 'plain/by-service'])(
      'false leaves the error to Nest, which knows its status alone: %s',
      async (path) => {
        await start({ mapErrors: false });
        const { status, headers, body } = await whenBusy(path);
        expect(status).toBe(423);
        expect(body).not.toHaveProperty('code');
        expect(headers.has('retry-after')).toBe(false);
      },
    );

    it.each(['plain/locked', 'plain/by-service'])(
      'a function gives the error that is answered: %s',
      async (path) => {
        const seen: [LockError, string][] = [];
        await start({
          mapErrors: (error, host) => {
            seen.push([error, host.getType()]);
            return new HttpException({ busy: error.key }, 429);
          },
        });
        expect(await whenBusy(path)).toMatchObject({ status: 429, body: { busy: 'order' } });
        expect(seen).toEqual([[expect.any(LockTimeoutError), 'http']]);
      },
    );

    it('a function that gives undefined leaves the error to us', async () => {
      await start({ mapErrors: () => undefined });
      expect(await whenBusy('plain/locked')).toMatchObject(mapped);
      expect(await whenBusy('plain/by-service')).toMatchObject(mapped);
    });
  });
});
