import { getQueueToken, Processor, WorkerHost, BullModule } from '@nestjs/bullmq';
import { type INestApplicationContext, Inject, Logger } from '@nestjs/common';
import { type Job, type Queue, QueueEvents } from 'bullmq';
import {
  DistributedLockModule,
  type DistributedLockModuleOptions,
  LockService,
  WithLock,
} from 'nestjs-distributed-lock';
import { TestLockDriver } from 'nestjs-distributed-lock/testing';
import { filter, firstValueFrom } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { uniqueName } from '../../support/http.js';
import { hasRedis, useRedis } from '../../support/redis/use-redis.js';
import { Stage } from '../../support/stage.js';
import { boot } from '../module/support.js';

const redis = useRedis();
const QUEUE = uniqueName('orders');

@Processor(QUEUE, { concurrency: 5 })
class OrderProcessor extends WorkerHost {
  constructor(@Inject(Stage) private readonly stage: Stage) {
    super();
  }

  @WithLock('order:<0.data.id>')
  override process(_job: Job<{ id: string }>): Promise<string> {
    return this.stage.promise();
  }
}

describe.skipIf(!hasRedis)('a processor of @nestjs/bullmq', () => {
  let driver: TestLockDriver;
  let stage: Stage;
  let app: INestApplicationContext;
  let queue: Queue;
  let events: QueueEvents;

  beforeEach(() => {
    driver = new TestLockDriver();
    stage = new Stage();
    vi.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  });

  afterEach(async () => {
    await events.close();
    await queue.obliterate({ force: true });
    await app.close();
    vi.restoreAllMocks();
  });

  async function start(options: Partial<DistributedLockModuleOptions> = {}): Promise<LockService> {
    const { host, port, username, password } = redis();
    const connection = { host, port, username, password };
    app = await boot({
      imports: [
        DistributedLockModule.forRoot({ driver, ...options }),
        BullModule.forRoot({ connection }),
        BullModule.registerQueue({ name: QUEUE }),
      ],
      providers: [{ provide: Stage, useValue: stage }, OrderProcessor],
    });
    queue = app.get<Queue>(getQueueToken(QUEUE));
    events = new QueueEvents(QUEUE, { connection });
    await events.waitUntilReady();
    return app.get(LockService);
  }

  const add = (attempts = 1): Promise<Job> => queue.add('pay', { id: '7' }, { attempts });

  it('works off the jobs of one key one after the other', async () => {
    const locks = await start();
    const first = await add();
    const act = await stage.acts.next();
    expect(act.lock?.keys).toEqual(['order:7']);
    const waits = firstValueFrom(locks.events$.pipe(filter(({ type }) => type === 'waiting')));
    const second = await add();
    await waits;
    expect(stage.running).toBe(1);
    act.finish('one');
    await expect(first.waitUntilFinished(events)).resolves.toBe('one');
    (await stage.acts.next()).finish('two');
    await expect(second.waitUntilFinished(events)).resolves.toBe('two');
    expect(driver.list()).toEqual([]);
  });

  it('fails a job whose lock is busy, without running it, and the queue tries it again', async () => {
    await start({ wait: 0 });
    driver.busyNext(1);
    const job = await add(2);
    const act = await stage.acts.next();
    act.finish('second try');
    await expect(job.waitUntilFinished(events)).resolves.toBe('second try');
    expect(stage.begun).toBe(1);
    expect((await queue.getJob(job.id as string))?.attemptsMade).toBe(2);
  });

  it('fails a job with the reason: busy, backend down', async () => {
    await start({ wait: 0 });
    driver.busyNext(1, { owner: 'pod-7:41#x' });
    await expect((await add()).waitUntilFinished(events)).rejects.toThrow(
      /order:7 is held by pod-7:41/,
    );
    driver.failNext(1, { error: new Error('ECONNREFUSED') });
    await expect((await add()).waitUntilFinished(events)).rejects.toThrow(/ECONNREFUSED/);
    expect(stage.begun).toBe(0);
  });

  it('fails a job whose lock is lost, when it has ended', async () => {
    const locks = await start();
    const job = await add();
    const act = await stage.acts.next();
    await locks.forceRelease('order:7');
    expect(act.lock?.signal.aborted).toBe(true);
    act.finish('too late');
    await expect(job.waitUntilFinished(events)).rejects.toThrow(/order:7 is lost/);
  });
});
