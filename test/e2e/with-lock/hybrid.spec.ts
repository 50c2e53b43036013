import {
  Controller,
  Get,
  type INestApplication,
  type INestMicroservice,
  Inject,
  Logger,
  Param,
  UseInterceptors,
} from '@nestjs/common';
import {
  type ClientProxy,
  Ctx,
  EventPattern,
  MessagePattern,
  Payload,
  Transport,
} from '@nestjs/microservices';
import { DistributedLockModule, LockService, WithLock } from 'nestjs-distributed-lock';
import { TestLockDriver } from 'nestjs-distributed-lock/testing';
import { filter, firstValueFrom, lastValueFrom } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HTTP_ADAPTER_NAMES, request, serve, uniqueName } from '../../support/http.js';
import { hasRedis, useRedis } from '../../support/redis/use-redis.js';
import { Stage } from '../../support/stage.js';
import { connect, connectTcp, redisOptions, TCP_OPTIONS } from '../../support/transports.js';
import { journal, PlainTransaction } from './support/transactions.js';

const redis = useRedis();
const run = uniqueName('hybrid');

@Controller()
@UseInterceptors(PlainTransaction)
class OrdersController {
  constructor(@Inject(Stage) private readonly stage: Stage) {}

  @Get('pay/:id')
  @WithLock('order:<0>')
  request(@Param('id') _id: string): Promise<string> {
    return this.stage.promise();
  }

  @MessagePattern(`${run}:message`)
  @WithLock('order:<0>')
  message(@Payload() _id: string, @Ctx() _context: unknown): Promise<string> {
    return this.stage.promise();
  }

  @EventPattern<Record<string, string>>(`${run}:event`, Transport.REDIS)
  @WithLock('order:<0>')
  event(@Payload() _id: string): Promise<string> {
    return this.stage.promise();
  }

  @Get('impatient')
  @MessagePattern(`${run}:impatient`)
  @WithLock('impatient', { wait: 0 })
  async impatient(): Promise<string> {
    return 'served';
  }
}

describe.skipIf(!hasRedis).each(HTTP_ADAPTER_NAMES)(
  'an application on %s, TCP and Redis',
  (adapter) => {
    let driver: TestLockDriver;
    let stage: Stage;
    let app: INestApplication;
    let tcp: ClientProxy;
    let broker: ClientProxy;

    beforeEach(async () => {
      driver = new TestLockDriver();
      stage = new Stage();
      journal.length = 0;
      vi.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
      let overTcp!: INestMicroservice;
      app = await serve(
        adapter,
        {
          imports: [DistributedLockModule.forRoot(driver)],
          controllers: [OrdersController],
          providers: [{ provide: Stage, useValue: stage }],
        },
        async (server) => {
          overTcp = server.connectMicroservice(TCP_OPTIONS);
          server.connectMicroservice(redisOptions(redis()));
          await server.startAllMicroservices();
        },
      );
      tcp = await connectTcp(overTcp);
      broker = await connect(redisOptions(redis()));
    });

    afterEach(async () => {
      await Promise.all([tcp.close(), broker.close()]);
      await app.close();
      vi.restoreAllMocks();
    });

    const waiting = (): Promise<unknown> =>
      firstValueFrom(app.get(LockService).events$.pipe(filter(({ type }) => type === 'waiting')));

    const CALLS: Record<string, () => Promise<unknown>> = {
      'a request': async () => (await request(app, 'pay/7')).body,
      'a message over TCP': () => lastValueFrom(tcp.send(`${run}:message`, '7')),
      'a message over Redis': () => lastValueFrom(broker.send(`${run}:message`, '7')),
    };
    const pairs = Object.keys(CALLS).flatMap((one) =>
      Object.keys(CALLS).map((other) => [one, other] as const),
    );

    it.each(pairs)(
      'keeps %s and %s of one key apart, each until its commit',
      async (one, other) => {
        const first = CALLS[one]!();
        const act = await stage.acts.next();
        const waits = waiting();
        const second = CALLS[other]!();
        await waits;
        expect(stage.running).toBe(1);
        act.finish('one');
        expect(await first).toBe('one');
        expect(journal).toEqual(['commit']);
        (await stage.acts.next()).finish('two');
        expect(await second).toBe('two');
        expect(driver.list()).toEqual([]);
      },
    );

    it('keeps an event and a request of one key apart', async () => {
      await lastValueFrom(broker.emit(`${run}:event`, '7'), { defaultValue: undefined });
      const act = await stage.acts.next();
      const waits = waiting();
      const second = CALLS['a request']!();
      await waits;
      act.finish('one');
      (await stage.acts.next()).finish('two');
      expect(await second).toBe('two');
      expect(stage.mostAtOnce).toBe(1);
    });

    it('answers one handler of all transports in the way of each', async () => {
      driver.busyNext(3);
      const busy = { statusCode: 423, code: 'LOCK_TIMEOUT', message: expect.any(String) };
      expect(await request(app, 'impatient')).toMatchObject({ status: 423, body: busy });
      await expect(lastValueFrom(tcp.send(`${run}:impatient`, ''))).rejects.toEqual(busy);
      await expect(lastValueFrom(broker.send(`${run}:impatient`, ''))).rejects.toEqual(busy);
      expect(await request(app, 'impatient')).toMatchObject({ status: 200, body: 'served' });
    });
  },
);
