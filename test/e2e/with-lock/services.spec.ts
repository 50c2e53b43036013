import {
  type INestApplicationContext,
  Injectable,
  Module,
  type Provider,
  Scope,
} from '@nestjs/common';
import { ContextIdFactory, LazyModuleLoader, ModuleRef } from '@nestjs/core';
import {
  currentLock,
  DistributedLockModule,
  LockConfigError,
  type LockHandle,
  LockService,
  WithLock,
} from 'nestjs-distributed-lock';
import { attachLocks, TestLockDriver } from 'nestjs-distributed-lock/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { boot, compile, moduleOf } from '../module/support.js';

const body = vi.fn<() => unknown>();
let driver: TestLockDriver;
let app: INestApplicationContext | undefined;

beforeEach(() => {
  driver = new TestLockDriver();
  body.mockReset().mockImplementation(heldKeys);
});

afterEach(async () => {
  await app?.close();
  app = undefined;
});

async function start(...providers: Provider[]): Promise<INestApplicationContext> {
  app = await boot({ imports: [DistributedLockModule.forRoot(driver)], providers });
  return app;
}

interface Orders {
  pay(id: string): Promise<unknown>;
}

const heldKeys = (): string[] =>
  driver
    .list()
    .map(({ key }) => key)
    .toSorted();

/** What one call of the method has seen of the backend. */
async function payOn(orders: Orders): Promise<unknown> {
  return { before: heldKeys(), inside: await orders.pay('7'), after: heldKeys() };
}

const locked = (...keys: string[]): unknown => ({ before: [], inside: keys, after: [] });

@Injectable()
class SingletonOrders implements Orders {
  @WithLock('order:<0>')
  async pay(_id: string): Promise<unknown> {
    return body();
  }
}

@Injectable({ scope: Scope.REQUEST })
class RequestOrders extends SingletonOrders {}

@Injectable({ scope: Scope.TRANSIENT })
class TransientOrders extends SingletonOrders {}

describe('a locked method of a provider', () => {
  it('works in a singleton', async () => {
    expect(await payOn((await start(SingletonOrders)).get(SingletonOrders))).toEqual(
      locked('order:7'),
    );
  });

  it('works in a request-scoped one', async () => {
    const context = await start(RequestOrders);
    const orders = await context.resolve(RequestOrders, ContextIdFactory.create());
    expect(await payOn(orders)).toEqual(locked('order:7'));
  });

  it('works in a transient one', async () => {
    expect(await payOn(await (await start(TransientOrders)).resolve(TransientOrders))).toEqual(
      locked('order:7'),
    );
  });

  it('works in an object that ModuleRef.create made', async () => {
    expect(await payOn(await (await start()).get(ModuleRef).create(SingletonOrders))).toEqual(
      locked('order:7'),
    );
  });

  it('works in a module that is loaded later', async () => {
    @Module({ providers: [SingletonOrders], exports: [SingletonOrders] })
    class LateModule {}

    const loader = (await start()).get(LazyModuleLoader);
    const late = await loader.load(() => LateModule);
    expect(await payOn(late.get(SingletonOrders))).toEqual(locked('order:7'));
  });

  it('works under another token', async () => {
    const context = await start({ provide: 'ORDERS', useClass: SingletonOrders });
    expect(await payOn(context.get<Orders>('ORDERS'))).toEqual(locked('order:7'));
  });

  it('works when a factory made its object', async () => {
    const context = await start({ provide: 'ORDERS', useFactory: () => new SingletonOrders() });
    expect(await payOn(context.get<Orders>('ORDERS'))).toEqual(locked('order:7'));
  });

  it('works when a factory made its object by a promise', async () => {
    const context = await start({
      provide: 'ORDERS',
      useFactory: () => Promise.resolve(new SingletonOrders()),
    });
    expect(await payOn(context.get<Orders>('ORDERS'))).toEqual(locked('order:7'));
  });

  it('works when its object was given as a value', async () => {
    const context = await start({ provide: 'ORDERS', useValue: new SingletonOrders() });
    expect(await payOn(context.get<Orders>('ORDERS'))).toEqual(locked('order:7'));
  });

  it('works again when its object is given to another application after the first was closed', async () => {
    const value = new SingletonOrders();
    for (let i = 0; i < 2; i++) {
      const context = await start({ provide: 'ORDERS', useValue: value });
      expect(await payOn(context.get<Orders>('ORDERS'))).toEqual(locked('order:7'));
      await context.close();
    }
  });

  it('works in a proxy that a factory made', async () => {
    const context = await start(SingletonOrders, {
      provide: 'ORDERS',
      inject: [SingletonOrders],
      useFactory: (orders: SingletonOrders) => new Proxy(orders, {}),
    });
    expect(await payOn(context.get<Orders>('ORDERS'))).toEqual(locked('order:7'));
  });

  it.each(['useFactory', 'useValue'] as const)('works in a frozen object, by %s', async (how) => {
    const frozen = Object.freeze(new SingletonOrders());
    const made = how === 'useValue' ? { useValue: frozen } : { useFactory: () => frozen };
    expect(
      await payOn((await start({ provide: 'ORDERS', ...made })).get<Orders>('ORDERS')),
    ).toEqual(locked('order:7'));
  });

  it('works in an object that freezes itself', async () => {
    @Injectable()
    class FrozenOrders extends SingletonOrders {
      constructor() {
        super();
        Object.freeze(this);
      }
    }

    expect(await payOn((await start(FrozenOrders)).get(FrozenOrders))).toEqual(locked('order:7'));
  });

  it('can be called from onModuleInit', async () => {
    @Injectable()
    class EagerOrders extends SingletonOrders {
      paid: unknown;

      async onModuleInit(): Promise<void> {
        this.paid = await this.pay('7');
      }
    }

    expect((await start(EagerOrders)).get(EagerOrders).paid).toEqual(['order:7']);
  });

  it('keeps two calls of one key apart, also those of two objects', async () => {
    const context = await start(SingletonOrders, {
      provide: 'ORDERS',
      useClass: SingletonOrders,
    });
    let running = 0;
    body.mockImplementation(async () => {
      expect(++running).toBe(1);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
    });
    const [one, other] = [context.get(SingletonOrders), context.get<Orders>('ORDERS')];
    await Promise.all([one.pay('7'), other.pay('7'), one.pay('7'), other.pay('7')]);
    expect(body).toHaveBeenCalledTimes(4);
  });

  it('takes the service of the name it asks for', async () => {
    const billing = new TestLockDriver();

    @Injectable()
    class BillingOrders implements Orders {
      @WithLock('order:<0>', { service: 'billing' })
      async pay(_id: string): Promise<unknown> {
        return billing.list().map(({ key }) => key);
      }
    }

    app = await boot({
      imports: [
        DistributedLockModule.forRoot(driver),
        DistributedLockModule.forRoot({ driver: billing, name: 'billing' }),
      ],
      providers: [BillingOrders],
    });
    await expect(app.get(BillingOrders).pay('7')).resolves.toEqual(['order:7']);
    expect(driver.calls).toEqual([]);
  });

  it('sees its lock as LockService.current() and as currentLock()', async () => {
    const seen: (LockHandle | undefined)[] = [];
    body.mockImplementation(() => {
      seen.push(currentLock(), app?.get(LockService).current('order:7'));
    });
    await (await start(SingletonOrders)).get(SingletonOrders).pay('7');
    expect(seen).toEqual([expect.objectContaining({ keys: ['order:7'] }), seen[0]]);
    expect(currentLock()).toBeUndefined();
  });
});

abstract class AbstractOrders implements Orders {
  @WithLock('base:<0>')
  pay(id: string): Promise<unknown> {
    return this.doPay(id);
  }

  protected abstract doPay(id: string): Promise<unknown>;
}

@Injectable()
class TemplateMethodOrders extends AbstractOrders {
  protected async doPay(): Promise<unknown> {
    return body();
  }
}

@Injectable()
class OverridingOrders extends TemplateMethodOrders {
  @WithLock('derived:<0>')
  override async pay(id: string): Promise<unknown> {
    return super.pay(id);
  }
}

@Injectable()
class UnlockedOrders extends TemplateMethodOrders {
  override async pay(): Promise<unknown> {
    return body();
  }
}

describe('a locked method of an abstract base class', () => {
  it('works in the class that extends it', async () => {
    const context = await start(TemplateMethodOrders);
    expect(await payOn(context.get(TemplateMethodOrders))).toEqual(locked('base:7'));
  });

  it('can be overridden by a locked one, and then both locks are held', async () => {
    const context = await start(OverridingOrders);
    expect(await payOn(context.get(OverridingOrders))).toEqual(locked('base:7', 'derived:7'));
  });

  it('can be overridden by one that is not locked', async () => {
    const context = await start(UnlockedOrders);
    expect(await payOn(context.get(UnlockedOrders))).toEqual(locked());
    expect(driver.calls).toEqual([]);
  });
});

describe('without DistributedLockModule', () => {
  it('the boot fails with a message that names the class and LockService', async () => {
    const metadata = { providers: [SingletonOrders] };
    await expect(compile(metadata)).rejects.toThrow(/SingletonOrders.*LockService/s);
    await expect(boot(metadata)).rejects.toThrow(/SingletonOrders.*LockService/s);
  });

  it('the boot fails by the name of the instance that is missing', async () => {
    @Injectable()
    class BillingOrders {
      @WithLock('order', { service: 'billing' })
      async pay(): Promise<void> {}
    }

    await expect(
      boot({ imports: [DistributedLockModule.forRoot(driver)], providers: [BillingOrders] }),
    ).rejects.toThrow(/BillingOrders.*LockService\(billing\)/s);
  });

  it('the boot fails also in a module that does not see it', async () => {
    const local = DistributedLockModule.forRoot({ driver, isGlobal: false });
    await expect(
      boot({ imports: [local, moduleOf({ providers: [SingletonOrders] })] }),
    ).rejects.toThrow(/SingletonOrders.*LockService/s);
  });
});

describe('an object that was made with `new`', () => {
  it('rejects with LockConfigError, and the method is not run', async () => {
    const paid = new SingletonOrders().pay('7');
    await expect(paid).rejects.toBeInstanceOf(LockConfigError);
    await expect(paid).rejects.toThrow(/SingletonOrders\.pay/);
    expect(body).not.toHaveBeenCalled();
  });

  it('works with attachLocks', async () => {
    const orders = new SingletonOrders();
    attachLocks(orders, new LockService(driver));
    expect(await payOn(orders)).toEqual(locked('order:7'));
  });
});
