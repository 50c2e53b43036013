import {
  type CallHandler,
  Controller,
  type ExecutionContext,
  Get,
  type INestApplication,
  Inject,
  Injectable,
  Module,
  type ModuleMetadata,
  type NestInterceptor,
  Scope,
  type Type,
  UseInterceptors,
  Version,
  VERSION_NEUTRAL,
  VersioningType,
} from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import {
  DistributedLockModule,
  LockInterceptor,
  LockService,
  WithLock,
} from 'nestjs-distributed-lock';
import { concatMap, defer, map, Observable, of, retry } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type HttpAnswer, HTTP_ADAPTER_NAMES, request, serve } from '../../support/http.js';
import { journal, JournalDriver, note, PlainTransaction } from './support/transactions.js';

const failures = { left: 0 };

async function work(): Promise<string> {
  await note('body');
  if (failures.left-- > 0) {
    throw new Error('out of stock');
  }
  return 'done';
}

async function audited(value: unknown): Promise<unknown> {
  await note('audit');
  return value;
}

@Injectable()
class RetryTwice implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(retry(2));
  }
}

@Injectable()
class AnswerFromCache implements NestInterceptor {
  intercept(): Observable<unknown> {
    return of('cached');
  }
}

@Injectable()
class Shout implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((value) => `${String(value)}!`));
  }
}

@Injectable()
class LockedService {
  @WithLock('service')
  work(): Promise<string> {
    return work();
  }
}

@Controller()
class PlainController {
  @Get()
  @WithLock('tx')
  handle(): Promise<string> {
    return work();
  }
}

describe.each(HTTP_ADAPTER_NAMES)('on %s', (adapter) => {
  let app: INestApplication | undefined;

  beforeEach(() => {
    journal.length = 0;
    failures.left = 0;
  });

  afterEach(async () => {
    await app?.close();
    app = undefined;
  });

  async function call(
    controller: Type,
    { imports = [], ...metadata }: ModuleMetadata = {},
    prepare?: (server: INestApplication) => unknown,
  ): Promise<HttpAnswer> {
    const driver = new JournalDriver();
    app = await serve(
      adapter,
      {
        imports: [DistributedLockModule.forRoot(driver), ...imports],
        controllers: [controller],
        ...metadata,
      },
      prepare,
    );
    const answer = await request(app, '/');
    expect(driver.list()).toEqual([]);
    return answer;
  }

  describe('two @WithLock on one method', () => {
    it('are both held until the commit, and go in the opposite order', async () => {
      @Controller()
      class TwoLocks {
        @Get()
        @WithLock('a')
        @UseInterceptors(PlainTransaction)
        @WithLock('b')
        handle(): Promise<string> {
          return work();
        }
      }

      expect(await call(TwoLocks)).toMatchObject({ status: 200, body: 'done' });
      expect(journal).toEqual(['lock a', 'lock b', 'body', 'commit', 'unlock b', 'unlock a']);
    });

    it('may be of one key', async () => {
      @Controller()
      class OneKeyTwice {
        @WithLock('a', { wait: 0 })
        @Get()
        @WithLock('a', { wait: 0 })
        @UseInterceptors(PlainTransaction)
        handle(): Promise<string> {
          return work();
        }
      }

      expect(await call(OneKeyTwice)).toMatchObject({ status: 200, body: 'done' });
      expect(journal).toEqual(['lock a', 'body', 'commit', 'unlock a']);
    });

    it('may be of two instances', async () => {
      const billing = new JournalDriver();

      @Controller()
      class TwoServices {
        @Get()
        @WithLock('a')
        @WithLock('b', { service: 'billing' })
        @UseInterceptors(PlainTransaction)
        handle(): Promise<string> {
          return work();
        }
      }

      const imports = [DistributedLockModule.forRoot({ driver: billing, name: 'billing' })];
      expect(await call(TwoServices, { imports })).toMatchObject({ status: 200 });
      expect(journal).toEqual(['lock a', 'lock b', 'body', 'commit', 'unlock b', 'unlock a']);
      expect(billing.list()).toEqual([]);
    });
  });

  describe('an interceptor that tries again', () => {
    it('does so under the same lock', async () => {
      @Controller()
      class RetryInside {
        @Get()
        @WithLock('tx', { wait: 0 })
        @UseInterceptors(RetryTwice)
        handle(): Promise<string> {
          return work();
        }
      }

      failures.left = 2;
      expect(await call(RetryInside)).toMatchObject({ status: 200, body: 'done' });
      expect(journal).toEqual(['lock tx', 'body', 'body', 'body', 'unlock tx']);
    });

    it('does so under the same lock with an observable', async () => {
      @Controller()
      class RetryObservable {
        @Get()
        @WithLock('tx', { wait: 0 })
        @UseInterceptors(RetryTwice)
        handle(): Observable<string> {
          return defer(work);
        }
      }

      failures.left = 2;
      expect(await call(RetryObservable)).toMatchObject({ status: 200, body: 'done' });
      expect(journal).toEqual(['lock tx', 'body', 'body', 'body', 'unlock tx']);
    });

    it('asks again for a lock that was busy', async () => {
      @Controller()
      @UseInterceptors(RetryTwice)
      class RetryBusy {
        @Get()
        @WithLock('tx', { wait: 0 })
        handle(): Promise<string> {
          return work();
        }
      }

      const driver = new JournalDriver();
      driver.busyNext(2);
      app = await serve(adapter, {
        imports: [DistributedLockModule.forRoot(driver)],
        controllers: [RetryBusy],
      });
      expect(await request(app, '/')).toMatchObject({ status: 200, body: 'done' });
      expect(journal).toEqual(['lock tx', 'lock tx', 'lock tx', 'body', 'unlock tx']);
    });
  });

  describe('a global interceptor', () => {
    it('stands outside, so it commits after the lock has gone', async () => {
      await call(PlainController, {}, (server) =>
        server.useGlobalInterceptors(new PlainTransaction()),
      );
      expect(journal).toEqual(['lock tx', 'body', 'unlock tx', 'commit']);
    });

    it('stands inside if LockInterceptor is a global one before it', async () => {
      await call(PlainController, {}, (server) =>
        server.useGlobalInterceptors(new LockInterceptor(), new PlainTransaction()),
      );
      expect(journal).toEqual(['lock tx', 'body', 'commit', 'unlock tx']);
    });

    it('stands inside if LockInterceptor is an APP_INTERCEPTOR of the root module', async () => {
      @Module({ providers: [{ provide: APP_INTERCEPTOR, useClass: PlainTransaction }] })
      class DatabaseModule {}

      await call(PlainController, {
        imports: [DatabaseModule],
        providers: [{ provide: APP_INTERCEPTOR, useClass: LockInterceptor }],
      });
      expect(journal).toEqual(['lock tx', 'body', 'commit', 'unlock tx']);
    });
  });

  it('a request-scoped controller holds its lock until the commit', async () => {
    @Controller({ scope: Scope.REQUEST })
    @UseInterceptors(PlainTransaction)
    class RequestController extends PlainController {}

    await call(RequestController);
    expect(journal).toEqual(['lock tx', 'body', 'commit', 'unlock tx']);
  });

  it('a controller that inherits its handler holds its lock until its own commit', async () => {
    @Controller()
    @UseInterceptors(PlainTransaction)
    class DerivedController extends PlainController {}

    await call(DerivedController);
    expect(journal).toEqual(['lock tx', 'body', 'commit', 'unlock tx']);
  });

  it('a controller with a locked handler of its own holds its lock until the commit of its base', async () => {
    @UseInterceptors(PlainTransaction)
    class BaseController {}

    @Controller()
    class DerivedController extends BaseController {
      @Get()
      @WithLock('tx')
      handle(): Promise<string> {
        return work();
      }
    }

    await call(DerivedController);
    expect(journal).toEqual(['lock tx', 'body', 'commit', 'unlock tx']);
  });

  it('a lock that is lost during the commit is told to the caller', async () => {
    @Injectable()
    class LosingTransaction implements NestInterceptor {
      constructor(@Inject(LockService) private readonly locks: LockService) {}

      intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
        return next.handle().pipe(
          concatMap(async (value: unknown) => {
            await this.locks.forceRelease('tx');
            return value;
          }),
        );
      }
    }

    @Controller()
    @UseInterceptors(LosingTransaction)
    class LosingController extends PlainController {}

    expect(await call(LosingController)).toMatchObject({
      status: 500,
      body: { code: 'LOCK_LOST' },
    });
  });

  it('a locked service that a handler calls gives its lock back by itself', async () => {
    @Controller()
    @UseInterceptors(PlainTransaction)
    class CallingController {
      constructor(@Inject(LockedService) private readonly service: LockedService) {}

      @Get()
      @WithLock('tx')
      handle(): Promise<string> {
        return this.service.work();
      }
    }

    await call(CallingController, { providers: [LockedService] });
    expect(journal).toEqual([
      'lock tx',
      'lock service',
      'body',
      'unlock service',
      'commit',
      'unlock tx',
    ]);
  });

  it('a locked method that its own handler calls once more joins the lock', async () => {
    @Controller()
    class Recursive {
      @Get()
      @WithLock('tx', { wait: 0 })
      @UseInterceptors(PlainTransaction)
      async handle(deep?: unknown): Promise<string> {
        return deep === true ? work() : this.handle(true);
      }
    }

    expect(await call(Recursive)).toMatchObject({ status: 200, body: 'done' });
    expect(journal).toEqual(['lock tx', 'body', 'commit', 'unlock tx']);
  });

  it('a handler that overrides a locked one and calls it joins the lock, and holds it until the commit', async () => {
    @Controller()
    @UseInterceptors(PlainTransaction)
    class OverridingController extends PlainController {
      @Get()
      @WithLock('tx', { wait: 0 })
      override handle(): Promise<string> {
        return super.handle();
      }
    }

    expect(await call(OverridingController)).toMatchObject({ status: 200, body: 'done' });
    expect(journal).toEqual(['lock tx', 'body', 'commit', 'unlock tx']);
  });

  it('a locked handler that another one of its controller calls gives its lock back by itself', async () => {
    @Controller()
    @UseInterceptors(PlainTransaction)
    class TwoHandlers {
      @Get()
      @WithLock('tx')
      async handle(): Promise<string> {
        return this.other();
      }

      @Get('other')
      @WithLock('other')
      other(): Promise<string> {
        return work();
      }
    }

    await call(TwoHandlers);
    expect(journal).toEqual([
      'lock tx',
      'lock other',
      'body',
      'unlock other',
      'commit',
      'unlock tx',
    ]);
  });

  it('an interceptor of the controller joins the lock of its handler', async () => {
    @Injectable()
    class Audit implements NestInterceptor {
      constructor(@Inject(LockService) private readonly locks: LockService) {}

      intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
        return next
          .handle()
          .pipe(concatMap((value) => this.locks.withLock('tx', { wait: 0 }, () => audited(value))));
      }
    }

    @Controller()
    @UseInterceptors(Audit)
    class AuditedController extends PlainController {}

    expect(await call(AuditedController)).toMatchObject({ status: 200, body: 'done' });
    expect(journal).toEqual(['lock tx', 'body', 'audit', 'unlock tx']);
  });

  it('each version of a route has its own lock', async () => {
    @Controller()
    @UseInterceptors(PlainTransaction)
    class VersionedController {
      @Get()
      @Version('1')
      @WithLock('one')
      one(): Promise<string> {
        return work();
      }

      @Get()
      @WithLock('two')
      @Version(['2', VERSION_NEUTRAL])
      two(): Promise<string> {
        return work();
      }
    }

    await call(VersionedController, {}, (server) =>
      server.enableVersioning({ type: VersioningType.HEADER, header: 'x-version' }),
    );
    await request(app!, '/', { headers: { 'x-version': '1' } });
    expect(journal).toEqual(
      ['two', 'one'].flatMap((key) => [`lock ${key}`, 'body', 'commit', `unlock ${key}`]),
    );
  });

  it('an interceptor that answers by itself costs no lock', async () => {
    @Controller()
    @UseInterceptors(AnswerFromCache)
    class CachedController extends PlainController {}

    expect(await call(CachedController)).toMatchObject({ status: 200, body: 'cached' });
    expect(journal).toEqual([]);
  });

  it('an interceptor changes what the caller gets', async () => {
    @Controller()
    @UseInterceptors(Shout)
    class ShoutingController extends PlainController {}

    expect(await call(ShoutingController)).toMatchObject({ status: 200, body: 'done!' });
  });

  it('a handler beside it that is not locked is left alone', async () => {
    @Controller()
    class BesideController {
      @Get('locked')
      @WithLock('tx')
      locked(): Promise<string> {
        return work();
      }

      @Get()
      @UseInterceptors(PlainTransaction)
      plain(): string {
        return 'plain';
      }
    }

    expect(await call(BesideController)).toMatchObject({ status: 200, body: 'plain' });
    expect(journal).toEqual(['commit']);
  });
});
