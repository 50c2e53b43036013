import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import {
  Controller,
  type INestApplication,
  Inject,
  Logger,
  type MessageEvent,
  Sse,
} from '@nestjs/common';
import {
  DistributedLockModule,
  type DistributedLockModuleOptions,
  LockService,
  WithLock,
} from 'nestjs-distributed-lock';
import { TestLockDriver } from 'nestjs-distributed-lock/testing';
import { filter, firstValueFrom, map, Observable } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HTTP_ADAPTER_NAMES, serve } from '../../support/http.js';
import { Stage } from '../../support/stage.js';

const message = (data: string): MessageEvent => ({ data });

@Controller()
class PricesController {
  constructor(@Inject(Stage) private readonly stage: Stage) {}

  @Sse('observable')
  @WithLock('prices')
  observable(): Observable<MessageEvent> {
    return this.stage.observable().pipe(map(message));
  }

  @WithLock('prices')
  @Sse('promiseOfObservable')
  async promiseOfObservable(): Promise<Observable<MessageEvent>> {
    return (await this.stage.promiseOfObservable()).pipe(map(message));
  }
}

describe.each(HTTP_ADAPTER_NAMES)('server-sent events on %s', (adapter) => {
  let driver: TestLockDriver;
  let stage: Stage;
  let app: INestApplication | undefined;

  beforeEach(() => {
    driver = new TestLockDriver();
    stage = new Stage();
    vi.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  });

  afterEach(async () => {
    await app?.close();
    app = undefined;
    vi.restoreAllMocks();
  });

  async function start(options: Partial<DistributedLockModuleOptions> = {}): Promise<LockService> {
    app = await serve(adapter, {
      imports: [DistributedLockModule.forRoot({ driver, ...options })],
      controllers: [PricesController],
      providers: [{ provide: Stage, useValue: stage }],
    });
    return app.get(LockService);
  }

  async function open(path: string): Promise<IncomingMessage> {
    const url = await app!.getUrl();
    return new Promise((resolve, reject) => {
      get(`${url}/${path}`, { agent: false }, resolve).on('error', reject);
    });
  }

  const isHeld = (): boolean => driver.inspect('prices') !== null;

  describe.each(['observable', 'promiseOfObservable'])('from an %s', (path) => {
    it('keep the lock from the first to the last', async () => {
      const locks = await start();
      const first = open(path);
      const act = await stage.acts.next();
      act.emit('1.10');
      const waits = firstValueFrom(locks.events$.pipe(filter(({ type }) => type === 'waiting')));
      const second = open(path);
      await waits;
      expect(stage.running).toBe(1);
      act.finish('1.20');
      expect(await text(await first)).toMatch(/data: 1\.10\n[^]*data: 1\.20\n/);
      (await stage.acts.next()).finish('1.30');
      expect(await text(await second)).toContain('data: 1.30\n');
      expect(stage.mostAtOnce).toBe(1);
      expect(isHeld()).toBe(false);
    });

    it('tell of the lock that was lost while they ran', async () => {
      const locks = await start();
      const answer = open(path);
      const act = await stage.acts.next();
      await act.played;
      act.emit('1.10');
      await locks.forceRelease('prices');
      await act.left;
      const sent = await text(await answer);
      expect(sent).toContain('data: 1.10\n');
      expect(sent).toMatch(/event: error\n/);
      expect(sent).not.toContain('prices');
    });

    it('tell of a busy lock after a wait by an event, for their headers are sent by then', async () => {
      await start({ wait: 50 });
      await new LockService(driver).acquire('prices');
      const answer = await open(path);
      expect(answer.statusCode).toBe(200);
      expect(await text(answer)).toMatch(/event: error\n/);
      expect(stage.begun).toBe(0);
    });
  });

  it('are refused with 423 where the lock is seen to be busy at once', async () => {
    await start({ wait: 0 });
    await new LockService(driver).acquire('prices');
    const answer = await open('observable');
    expect(answer.statusCode).toBe(423);
    expect(JSON.parse(await text(answer))).toMatchObject({ code: 'LOCK_TIMEOUT' });
    expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(stage.begun).toBe(0);
  });
});
