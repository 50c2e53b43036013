import {
  type DynamicModule,
  type INestApplicationContext,
  Inject,
  Injectable,
  Module,
  type ModuleMetadata,
} from '@nestjs/common';
import {
  type DistributedLockFactoryResult,
  DistributedLockModule,
  type DistributedLockOptionsFactory,
  LockService,
  MemoryLockDriver,
} from 'nestjs-distributed-lock';
import { afterEach, describe, expect, it } from 'vitest';
import { boot, ConnectedDriver, moduleOf } from './support.js';

let app: INestApplicationContext | undefined;

afterEach(async () => {
  await app?.close();
  app = undefined;
});

async function serviceIn(metadata: ModuleMetadata): Promise<LockService> {
  app = await boot(metadata);
  return app.get(LockService);
}

@Injectable()
class Settings {
  readonly ttl = '12s';
  readonly driver = new ConnectedDriver();
}

@Module({ providers: [Settings], exports: [Settings] })
class SettingsModule {}

@Injectable()
class LockSettings implements DistributedLockOptionsFactory {
  constructor(@Inject(Settings) private readonly settings: Settings) {}

  createLockOptions(): DistributedLockFactoryResult {
    return { driver: this.settings.driver, ttl: this.settings.ttl };
  }
}

@Injectable()
class OrderService {
  constructor(@Inject(LockService) readonly locks: LockService) {}
}

describe('forRoot', () => {
  it('takes a driver', async () => {
    const driver = new ConnectedDriver();
    const locks = await serviceIn({ imports: [DistributedLockModule.forRoot(driver)] });
    expect(locks.options).toMatchObject({ name: 'default', defaults: { ttl: 30_000 } });
    expect(locks.options.driver).toBe(driver);
    expect(driver.connect).toHaveBeenCalledOnce();
    await expect(locks.withLock('a', () => driver.list().length)).resolves.toBe(1);
  });

  it('takes options', async () => {
    const driver = new MemoryLockDriver();
    const locks = await serviceIn({
      imports: [
        DistributedLockModule.forRoot({ driver, ttl: '1m', namespace: 'shop', isGlobal: true }),
      ],
    });
    expect(locks.options.driver).toBe(driver);
    await locks.withLock('a', () => {
      expect(driver.inspect('shop:a')?.remaining).toBeGreaterThan(30_000);
    });
  });

  it('is seen by all modules', async () => {
    app = await boot({
      imports: [
        DistributedLockModule.forRoot(new MemoryLockDriver()),
        moduleOf({ providers: [OrderService] }),
      ],
    });
    expect(app.get(OrderService, { strict: false }).locks).toBe(app.get(LockService));
  });

  it('is there before any other module begins', async () => {
    const driver = new ConnectedDriver();
    const connected: number[] = [];

    @Injectable()
    class Early {
      constructor(@Inject(LockService) private readonly locks: LockService) {}

      async onModuleInit(): Promise<void> {
        connected.push(driver.connect.mock.calls.length);
        await this.locks.withLock('a', () => undefined);
      }
    }

    app = await boot({
      imports: [moduleOf({ providers: [Early] }), DistributedLockModule.forRoot(driver)],
      providers: [Early],
    });
    expect(connected).toEqual([1, 1]);
  });
});

describe('forRootAsync', () => {
  it('takes a factory that gives a driver', async () => {
    const driver = new ConnectedDriver();
    const locks = await serviceIn({
      imports: [DistributedLockModule.forRootAsync({ useFactory: () => driver })],
    });
    expect(locks.options.driver).toBe(driver);
    expect(driver.connect).toHaveBeenCalledOnce();
  });

  it('takes a factory with dependencies that gives options, by a promise', async () => {
    const locks = await serviceIn({
      imports: [
        DistributedLockModule.forRootAsync({
          imports: [SettingsModule],
          inject: [Settings, { token: 'NOT_THERE', optional: true }],
          useFactory: async (settings: Settings, missing: unknown) => ({
            driver: settings.driver,
            ttl: settings.ttl,
            namespace: String(missing),
          }),
        }),
      ],
    });
    expect(locks.options.defaults.ttl).toBe(12_000);
    expect(locks.options.namespace).toBe('undefined');
  });

  it('takes a class, with its own dependencies', async () => {
    const locks = await serviceIn({
      imports: [
        DistributedLockModule.forRootAsync({ imports: [SettingsModule], useClass: LockSettings }),
      ],
    });
    expect(locks.options.defaults.ttl).toBe(12_000);
  });

  it('takes a provider that is there already', async () => {
    const existing = moduleOf({
      imports: [SettingsModule],
      providers: [LockSettings],
      exports: [LockSettings],
    });
    const locks = await serviceIn({
      imports: [
        DistributedLockModule.forRootAsync({ imports: [existing], useExisting: LockSettings }),
      ],
    });
    expect(locks.options.driver).toBe(app?.get(Settings, { strict: false }).driver);
  });

  it('runs its factory once', async () => {
    let runs = 0;
    const module = DistributedLockModule.forRootAsync({
      useFactory: () => {
        runs++;
        return new MemoryLockDriver();
      },
    });
    await serviceIn({
      imports: [module, moduleOf({ imports: [module], providers: [OrderService] })],
    });
    expect(runs).toBe(1);
  });
});

const local = (): DynamicModule =>
  DistributedLockModule.forRoot({ driver: new MemoryLockDriver(), isGlobal: false });

describe('isGlobal: false', () => {
  it('is seen by the modules that import it, as one instance', async () => {
    const module = local();
    app = await boot({
      imports: [module, moduleOf({ imports: [module], providers: [OrderService] })],
      providers: [
        { provide: 'MINE', inject: [LockService], useFactory: (locks: LockService) => locks },
      ],
    });
    expect(app.get(OrderService, { strict: false }).locks).toBe(app.get('MINE'));
  });

  it('is not seen by others', async () => {
    await expect(
      boot({ imports: [local(), moduleOf({ providers: [OrderService] })] }),
    ).rejects.toThrow(/OrderService \(\?\).*LockService/s);
  });

  it('holds for forRootAsync too', async () => {
    const module = DistributedLockModule.forRootAsync({
      isGlobal: false,
      useFactory: () => new MemoryLockDriver(),
    });
    await expect(
      boot({ imports: [module, moduleOf({ providers: [OrderService] })] }),
    ).rejects.toThrow(/LockService/);
  });
});
