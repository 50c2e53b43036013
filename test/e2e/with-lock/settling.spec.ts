import { get, type Server } from 'node:http';
import type { Socket } from 'node:net';
import {
  type CallHandler,
  Controller,
  type ExecutionContext,
  Get,
  type INestApplication,
  Inject,
  Injectable,
  Logger,
  type NestInterceptor,
  Sse,
  UseInterceptors,
} from '@nestjs/common';
import { IoAdapter } from '@nestjs/platform-socket.io';
import { WsAdapter } from '@nestjs/platform-ws';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { DistributedLockModule, LockService, WithLock } from 'nestjs-distributed-lock';
import { TestLockDriver } from 'nestjs-distributed-lock/testing';
import { filter, firstValueFrom, map, Observable, Subject, takeUntil, throwIfEmpty } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HTTP_ADAPTER_NAMES, request, serve } from '../../support/http.js';
import { openSocketIo, openWebSocket } from '../../support/sockets.js';
import { Stage } from '../../support/stage.js';

/** When this emits, the chain is given up, as `timeout()` does. */
const giveUp = new Subject<void>();

@Injectable()
class Impatient implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(
      takeUntil(giveUp),
      throwIfEmpty(() => new Error('too slow')),
    );
  }
}

@Controller()
class SlowController {
  constructor(@Inject(Stage) private readonly stage: Stage) {}

  @Get('promise')
  @WithLock('key')
  promise(): Promise<string> {
    return this.stage.promise();
  }

  @Get('observable')
  @WithLock('key')
  observable(): Observable<string> {
    return this.stage.observable();
  }

  @Get('promiseOfObservable')
  @WithLock('key')
  promiseOfObservable(): Promise<Observable<string>> {
    return this.stage.promiseOfObservable();
  }

  @Sse('sse')
  @WithLock('key')
  sse(): Observable<{ data: string }> {
    return this.stage.observable().pipe(map((data) => ({ data })));
  }

  @Get('impatient/promise')
  @WithLock('key')
  @UseInterceptors(Impatient)
  impatientPromise(): Promise<string> {
    return this.stage.promise();
  }

  @Get('impatient/observable')
  @WithLock('key')
  @UseInterceptors(Impatient)
  impatientObservable(): Observable<string> {
    return this.stage.observable();
  }

  @Get('ping')
  ping(): string {
    return 'pong';
  }
}

@WebSocketGateway()
class SlowGateway {
  constructor(@Inject(Stage) private readonly stage: Stage) {}

  @SubscribeMessage('promise')
  @WithLock('key')
  promise(): Promise<string> {
    return this.stage.promise();
  }

  @SubscribeMessage('observable')
  @WithLock('key')
  observable(): Observable<string> {
    return this.stage.observable();
  }
}

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

const metadata = () => ({
  imports: [DistributedLockModule.forRoot(driver)],
  controllers: [SlowController],
  providers: [{ provide: Stage, useFactory: () => stage }],
});

const isHeld = (): boolean => driver.inspect('key') !== null;

const event = (type: 'released' | 'waiting'): Promise<unknown> =>
  firstValueFrom(app!.get(LockService).events$.pipe(filter((seen) => seen.type === type)));

/** A client that can leave; the server has noticed it when the promise settles. */
async function visit(path: string): Promise<{ leave(): Promise<void> }> {
  const server = app!.getHttpServer() as Server;
  const connected = new Promise<Socket>((resolve) => server.once('connection', resolve));
  const visitor = get(`${await app!.getUrl()}/${path}`, { agent: false });
  visitor.on('error', () => undefined);
  const socket = await connected;
  return {
    async leave() {
      const closed = new Promise((resolve) => socket.once('close', resolve));
      visitor.destroy();
      await closed;
    },
  };
}

/** Leaves while it waits for the lock. */
async function leaveWhileWaiting(path: string): Promise<void> {
  const waits = event('waiting');
  const visitor = await visit(path);
  await waits;
  await visitor.leave();
  await request(app!, 'ping');
}

/** Leaves while it waits for the lock, which then is free. */
async function leaveBeforeItsTurn(path: string): Promise<void> {
  const first = request(app!, 'promise');
  const act = await stage.acts.next();
  await leaveWhileWaiting(path);
  act.finish('one');
  expect((await first).body).toBe('one');
}

describe.each(HTTP_ADAPTER_NAMES)('on %s', (adapter) => {
  beforeEach(async () => {
    app = await serve(adapter, metadata());
  });

  describe('an inner interceptor that does not wait', () => {
    it('answers at once, but the lock stays until the promise has settled', async () => {
      const answer = request(app!, 'impatient/promise');
      const act = await stage.acts.next();
      giveUp.next();
      expect((await answer).status).toBe(500);
      expect(stage.running).toBe(1);
      expect(isHeld()).toBe(true);
      const released = event('released');
      act.finish('too late');
      await released;
      expect(isHeld()).toBe(false);
    });

    it('unsubscribes an observable, and its lock goes', async () => {
      const answer = request(app!, 'impatient/observable');
      await stage.acts.next();
      giveUp.next();
      expect((await answer).status).toBe(500);
      expect(stage.running).toBe(0);
      expect(isHeld()).toBe(false);
    });
  });

  describe('a client that leaves', () => {
    it('leaves the lock to the promise until that has settled', async () => {
      const visitor = await visit('promise');
      const act = await stage.acts.next();
      await visitor.leave();
      await request(app!, 'ping');
      expect(isHeld()).toBe(true);
      const released = event('released');
      act.finish('nobody hears it');
      await released;
      expect(isHeld()).toBe(false);
    });

    it('does not hurt when the promise then fails', async () => {
      const visitor = await visit('promise');
      const act = await stage.acts.next();
      await visitor.leave();
      const released = event('released');
      act.fail(new Error('nobody hears it'));
      await released;
      expect(isHeld()).toBe(false);
    });

    it.each(['observable', 'promiseOfObservable', 'sse'])(
      'unsubscribes what the handler returned, and its lock goes: %s',
      async (path) => {
        const visitor = await visit(path);
        const act = await stage.acts.next();
        await act.played;
        const released = event('released');
        await visitor.leave();
        await released;
        expect(stage.running).toBe(0);
        expect(isHeld()).toBe(false);
      },
    );

    it('is not served any more if it was waiting for an observable, and stands in no line', async () => {
      const first = request(app!, 'promise');
      const act = await stage.acts.next();
      await leaveWhileWaiting('observable');
      const waits = event('waiting');
      const next = request(app!, 'promise');
      expect(await waits).toMatchObject({ waiters: 1 });
      act.finish('one');
      expect((await first).body).toBe('one');
      (await stage.acts.next()).finish('two');
      expect((await next).body).toBe('two');
      expect(stage.begun).toBe(2);
      expect(isHeld()).toBe(false);
    });

    it('is served all the same if it was waiting for a promise, for Nest does not tell', async () => {
      await leaveBeforeItsTurn('promise');
      const act = await stage.acts.next();
      expect(isHeld()).toBe(true);
      const released = event('released');
      act.finish('nobody hears it');
      await released;
      expect(isHeld()).toBe(false);
    });

    it('leaves no lock behind if it was waiting for a promise of an observable', async () => {
      await leaveBeforeItsTurn('promiseOfObservable');
      await stage.acts.next();
      await vi.waitFor(() => expect(isHeld()).toBe(false));
    });
  });
});

describe.each([
  ['ws', WsAdapter, openWebSocket],
  ['Socket.IO', IoAdapter, openSocketIo],
] as const)('on %s', (_, Adapter, connect) => {
  beforeEach(async () => {
    const base = metadata();
    const providers = [...base.providers, SlowGateway];
    app = await serve('Express', { ...base, providers }, (server) =>
      server.useWebSocketAdapter(new Adapter(server)),
    );
  });

  it('a client that leaves leaves the lock to the promise until that has settled', async () => {
    const client = await connect(await app!.getUrl());
    client.send('promise');
    const act = await stage.acts.next();
    await client.close();
    await request(app!, 'ping');
    expect(isHeld()).toBe(true);
    const released = event('released');
    act.finish('nobody hears it');
    await released;
    expect(isHeld()).toBe(false);
  });

  it('a client that leaves unsubscribes an observable, and its lock goes', async () => {
    const client = await connect(await app!.getUrl());
    client.send('observable');
    const act = await stage.acts.next();
    const released = event('released');
    await client.close();
    await Promise.all([act.left, released]);
    expect(isHeld()).toBe(false);
  });
});
