import { type INestApplicationContext, Inject, Injectable } from '@nestjs/common';
import {
  DistributedLockModule,
  getLockServiceToken,
  InjectLockService,
  LockConfigError,
  LockService,
  MemoryLockDriver,
} from 'nestjs-distributed-lock';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { boot, compile, ConnectedDriver, moduleOf } from './support.js';

const apps: INestApplicationContext[] = [];

afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
});

@Injectable()
class Both {
  @InjectLockService('billing')
  readonly property!: LockService;

  constructor(
    @Inject(LockService) readonly plain: LockService,
    @InjectLockService() readonly unnamed: LockService,
    @InjectLockService('default') readonly byDefaultName: LockService,
    @InjectLockService('billing') readonly billing: LockService,
  ) {}
}

describe('named instances', () => {
  it('stand beside the default one, each with its own driver', async () => {
    const [driver, billingDriver] = [new ConnectedDriver(), new ConnectedDriver()];
    const app = await boot({
      imports: [
        DistributedLockModule.forRoot(driver),
        DistributedLockModule.forRootAsync({ name: 'billing', useFactory: () => billingDriver }),
      ],
      providers: [Both],
    });
    apps.push(app);
    const both = app.get(Both);
    expect(both.plain.options.driver).toBe(driver);
    expect([both.unnamed, both.byDefaultName]).toEqual([both.plain, both.plain]);
    expect(both.billing.options).toMatchObject({ name: 'billing', driver: billingDriver });
    expect(both.property).toBe(both.billing);
    expect(app.get(getLockServiceToken('billing'))).toBe(both.billing);
    expect(driver.connect).toHaveBeenCalledOnce();
    expect(billingDriver.connect).toHaveBeenCalledOnce();
  });

  it('work without a default one', async () => {
    const app = await boot({
      imports: [DistributedLockModule.forRoot({ driver: new MemoryLockDriver(), name: 'billing' })],
    });
    apps.push(app);
    expect(app.get(getLockServiceToken('billing'))).toBeInstanceOf(LockService);
    expect(() => app.get(LockService)).toThrow(/could not find LockService/);
  });

  it('have readable tokens', () => {
    expect(getLockServiceToken()).toBe(LockService);
    expect(getLockServiceToken('default')).toBe(LockService);
    expect(getLockServiceToken('billing')).toBe('LockService(billing)');
    expect(() => getLockServiceToken('')).toThrow(LockConfigError);
    expect(() => InjectLockService(' ')).toThrow(LockConfigError);
  });

  it('that nobody set up fail the boot by their name', async () => {
    const metadata = {
      imports: [DistributedLockModule.forRoot(new MemoryLockDriver())],
      providers: [Both],
    };
    await expect(compile(metadata)).rejects.toThrow(/Both.*LockService\(billing\)/s);
    await expect(boot(metadata)).rejects.toThrow(/LockService\(billing\)/);
  });
});

const driver = (): MemoryLockDriver => new MemoryLockDriver();

const bootTwice = (name?: string): Promise<unknown> =>
  boot({
    imports: [
      DistributedLockModule.forRoot({ driver: driver(), name }),
      moduleOf({
        imports: [DistributedLockModule.forRoot({ driver: driver(), name, isGlobal: false })],
      }),
    ],
  });

describe('a second instance of one name', () => {
  it('is refused at boot, by its name', async () => {
    await expect(bootTwice('billing')).rejects.toThrow(LockConfigError);
    await expect(bootTwice('billing')).rejects.toThrow(/set up 2 times with the name "billing"/);
    await expect(bootTwice()).rejects.toThrow(/set up 2 times with the name "default"/);
  });

  it('is refused before any factory runs or driver is connected', async () => {
    const connected = new ConnectedDriver();
    const useFactory = vi.fn<() => MemoryLockDriver>(driver);
    await expect(
      boot({
        imports: [
          DistributedLockModule.forRoot(connected),
          DistributedLockModule.forRootAsync({ useFactory }),
        ],
      }),
    ).rejects.toThrow(LockConfigError);
    expect(useFactory).not.toHaveBeenCalled();
    expect(connected.connect).not.toHaveBeenCalled();
  });

  it('is the same one if it is the same module, imported twice', async () => {
    const module = DistributedLockModule.forRoot(driver());
    apps.push(await boot({ imports: [module, moduleOf({ imports: [module] })] }));
    expect(apps[0]?.get(LockService)).toBeInstanceOf(LockService);
  });

  it('is fine in another application, also with the same module', async () => {
    const module = DistributedLockModule.forRoot(driver());
    apps.push(await boot({ imports: [module] }), await boot({ imports: [module] }));
    const [one, other] = apps.map((app) => app.get(LockService));
    expect(one).not.toBe(other);
    await one?.withLock('a', async () => {
      await expect(other?.tryAcquire('a')).resolves.toBeNull();
    });
  });
});
