import {
  type INestApplicationContext,
  Inject,
  Injectable,
  Logger,
  type Type,
} from '@nestjs/common';
import { CommandBus, CommandHandler, CqrsModule, type ICommandHandler } from '@nestjs/cqrs';
import { EventEmitter2, EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
import { Cron, CronExpression, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import {
  DistributedLockModule,
  type DistributedLockModuleOptions,
  LockService,
  WithLock,
} from 'nestjs-distributed-lock';
import { TestLockDriver } from 'nestjs-distributed-lock/testing';
import { filter, firstValueFrom } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Stage } from '../../support/stage.js';
import { boot } from '../module/support.js';

@Injectable()
class NightlyJobs {
  constructor(@Inject(Stage) private readonly stage: Stage) {}

  @Cron(CronExpression.EVERY_SECOND, { name: 'nightly' })
  @WithLock('nightly', { onBusy: 'skip', minHold: 200 })
  async nightly(): Promise<string | undefined> {
    return this.stage.promise();
  }
}

interface Order {
  readonly id: string;
}

@Injectable()
class OrderListener {
  constructor(@Inject(Stage) private readonly stage: Stage) {}

  @OnEvent('order.paid')
  @WithLock('order:<0.id>')
  paid(_order: Order): Promise<string> {
    return this.stage.promise();
  }

  @WithLock('order:<0.id>')
  @OnEvent('order.refunded', { suppressErrors: false })
  refunded(_order: Order): Promise<string> {
    return this.stage.promise();
  }
}

class PayOrder {
  constructor(readonly id: string) {}
}

@CommandHandler(PayOrder)
class PayOrderHandler implements ICommandHandler<PayOrder, string> {
  constructor(@Inject(Stage) private readonly stage: Stage) {}

  @WithLock('order:<0.id>')
  execute(_command: PayOrder): Promise<string> {
    return this.stage.promise();
  }
}

let driver: TestLockDriver;
let stage: Stage;
let logged: unknown[];
const apps: INestApplicationContext[] = [];

beforeEach(() => {
  driver = new TestLockDriver();
  stage = new Stage();
  logged = [];
  vi.spyOn(Logger.prototype, 'error').mockImplementation((...args: unknown[]) => {
    logged.push(...args);
  });
});

afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
  vi.restoreAllMocks();
});

async function start(
  handler: Type,
  options: Partial<DistributedLockModuleOptions> = {},
): Promise<INestApplicationContext> {
  const app = await boot({
    imports: [
      DistributedLockModule.forRoot({ driver, ...options }),
      ScheduleModule.forRoot(),
      EventEmitterModule.forRoot(),
      CqrsModule.forRoot(),
    ],
    providers: [{ provide: Stage, useValue: stage }, handler],
  });
  apps.push(app);
  return app;
}

const heldKeys = (): string[] => driver.list().map(({ key }) => key);

const event = (app: INestApplicationContext, type: string): Promise<unknown> =>
  firstValueFrom(app.get(LockService).events$.pipe(filter((seen) => seen.type === type)));

const jobOf = (app: INestApplicationContext): ReturnType<SchedulerRegistry['getCronJob']> =>
  app.get(SchedulerRegistry).getCronJob('nightly');

describe('a job of @nestjs/schedule', () => {
  it('is run by its clock, on one replica, while the others skip it', async () => {
    const replicas = [await start(NightlyJobs), await start(NightlyJobs), await start(NightlyJobs)];
    const skipped = replicas.map((app) => event(app, 'busy'));
    const act = await stage.acts.next();
    expect(act.lock?.keys).toEqual(['nightly']);
    await Promise.any(skipped.map((one, i) => one.then(() => i)));
    expect(stage.running).toBe(1);
    act.finish('done');
    expect(stage.mostAtOnce).toBe(1);
    expect(logged).toEqual([]);
  });

  it('is not run again by a replica whose clock is late, within minHold', async () => {
    const [one, other] = [await start(NightlyJobs), await start(NightlyJobs)];
    await Promise.all([jobOf(one).stop(), jobOf(other).stop()]);
    const skipped = event(other, 'busy');
    await jobOf(one).fireOnTick();
    const act = await stage.acts.next();
    act.finish('done');
    await act.left;
    await jobOf(other).fireOnTick();
    await skipped;
    expect(stage.begun).toBe(1);
  });
});

describe('a listener of @nestjs/event-emitter', () => {
  it('handles the events of one key one after the other', async () => {
    const app = await start(OrderListener);
    const emitter = app.get(EventEmitter2);
    const waits = event(app, 'waiting');
    const first = emitter.emitAsync('order.paid', { id: '7' });
    const act = await stage.acts.next();
    expect(act.lock?.keys).toEqual(['order:7']);
    const second = emitter.emitAsync('order.paid', { id: '7' });
    await waits;
    expect(stage.running).toBe(1);
    act.finish('one');
    expect(await first).toEqual(['one']);
    (await stage.acts.next()).finish('two');
    expect(await second).toEqual(['two']);
    expect(heldKeys()).toEqual([]);
  });

  it('is not run when the lock is busy: the error is logged, and the event is lost', async () => {
    const app = await start(OrderListener, { wait: 0 });
    await using lock = await new LockService(driver).acquire('order:7');
    const emitted = app.get(EventEmitter2).emitAsync('order.paid', { id: '7' });
    await expect(emitted).resolves.toEqual([undefined]);
    expect(lock.held).toBe(true);
    expect(stage.begun).toBe(0);
    expect(logged[0]).toMatch(/order:7 is held by/);
  });

  it('is not run when the lock is busy: who emits gets the error if it is not suppressed', async () => {
    const app = await start(OrderListener, { wait: 0 });
    await using lock = await new LockService(driver).acquire('order:7');
    const emitted = app.get(EventEmitter2).emitAsync('order.refunded', { id: '7' });
    await expect(emitted).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
    expect(lock.held).toBe(true);
  });
});

describe('a command handler of @nestjs/cqrs', () => {
  it('handles the commands of one key one after the other', async () => {
    const app = await start(PayOrderHandler);
    const bus = app.get(CommandBus);
    const waits = event(app, 'waiting');
    const first = bus.execute(new PayOrder('7'));
    const act = await stage.acts.next();
    expect(act.lock?.keys).toEqual(['order:7']);
    const second = bus.execute(new PayOrder('7'));
    await waits;
    expect(stage.running).toBe(1);
    act.finish('one');
    expect(await first).toBe('one');
    (await stage.acts.next()).finish('two');
    expect(await second).toBe('two');
    expect(heldKeys()).toEqual([]);
  });

  it('is not run when the lock is busy, and who sent the command gets the error', async () => {
    const app = await start(PayOrderHandler, { wait: 0 });
    await using lock = await new LockService(driver).acquire('order:7');
    await expect(app.get(CommandBus).execute(new PayOrder('7'))).rejects.toMatchObject({
      code: 'LOCK_TIMEOUT',
      keys: ['order:7'],
    });
    expect(lock.held).toBe(true);
    expect(stage.begun).toBe(0);
  });

  it('hears that its lock is lost, and who sent the command too', async () => {
    const app = await start(PayOrderHandler);
    const paid = app.get(CommandBus).execute(new PayOrder('7'));
    const act = await stage.acts.next();
    await app.get(LockService).forceRelease('order:7');
    expect(act.lock?.signal.aborted).toBe(true);
    act.finish('too late');
    await expect(paid).rejects.toMatchObject({ code: 'LOCK_LOST' });
  });
});
