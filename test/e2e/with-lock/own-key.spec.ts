import { setImmediate } from 'node:timers/promises';
import { Controller, Get, type INestApplication } from '@nestjs/common';
import { type ClientProxy, MessagePattern } from '@nestjs/microservices';
import { IoAdapter } from '@nestjs/platform-socket.io';
import { WsAdapter } from '@nestjs/platform-ws';
import { SubscribeMessage, WebSocketGateway, type WsResponse } from '@nestjs/websockets';
import {
  DistributedLockModule,
  type ReleaseRequest,
  type ReleaseResult,
  WithLock,
} from 'nestjs-distributed-lock';
import { TestLockDriver } from 'nestjs-distributed-lock/testing';
import { defer, firstValueFrom, map, Observable } from 'rxjs';
import { afterEach, describe, expect, it } from 'vitest';
import { HTTP_ADAPTER_NAMES, request, serve } from '../../support/http.js';
import { openSocketIo, openWebSocket, type SocketClient } from '../../support/sockets.js';
import { connectTcp, TCP_OPTIONS } from '../../support/transports.js';

const TIMES = 500;
const KINDS = ['promise', 'observable', 'promiseOfObservable'] as const;

/** Gives locks back as a server does that is some way off. */
class RemoteDriver extends TestLockDriver {
  override async release(lease: ReleaseRequest): Promise<ReleaseResult> {
    await setImmediate();
    return super.release(lease);
  }
}

async function work(): Promise<string> {
  await setImmediate();
  return 'done';
}

@Controller()
class OneKeyController {
  @Get('promise')
  @MessagePattern('promise')
  @WithLock('key', { wait: 0 })
  promise(): Promise<string> {
    return work();
  }

  @Get('observable')
  @MessagePattern('observable')
  @WithLock('key', { wait: 0 })
  observable(): Observable<string> {
    return defer(work);
  }

  @Get('promiseOfObservable')
  @MessagePattern('promiseOfObservable')
  @WithLock('key', { wait: 0 })
  async promiseOfObservable(): Promise<Observable<string>> {
    return defer(work);
  }
}

const answer = (data: string): WsResponse<string> => ({ event: 'answer', data });

@WebSocketGateway()
class OneKeyGateway {
  @SubscribeMessage('promise')
  @WithLock('key', { wait: 0 })
  promise(): Promise<WsResponse<string>> {
    return work().then(answer);
  }

  @SubscribeMessage('observable')
  @WithLock('key', { wait: 0 })
  observable(): Observable<WsResponse<string>> {
    return defer(work).pipe(map(answer));
  }
}

const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) {
    await close();
  }
});

/** Two replicas of one application, so that neither knows what the other is about to give back. */
async function replicas<T>(
  start: (driver: TestLockDriver) => Promise<T>,
): Promise<readonly [T, T]> {
  const driver = new RemoteDriver();
  return [await start(driver), await start(driver)];
}

async function startServer(
  driver: TestLockDriver,
  adapter: 'Express' | 'Fastify',
  prepare?: (server: INestApplication) => unknown,
): Promise<INestApplication> {
  const app = await serve(
    adapter,
    {
      imports: [DistributedLockModule.forRoot(driver)],
      controllers: [OneKeyController],
      providers: [OneKeyGateway],
    },
    prepare ?? ((server) => server.useWebSocketAdapter(new WsAdapter(server))),
  );
  closing.push(() => app.close());
  return app;
}

async function startTcp(driver: TestLockDriver): Promise<ClientProxy> {
  let client!: ClientProxy;
  await startServer(driver, 'Express', async (server) => {
    const microservice = server.connectMicroservice(TCP_OPTIONS);
    server.useWebSocketAdapter(new WsAdapter(server));
    await server.startAllMicroservices();
    client = await connectTcp(microservice);
  });
  closing.push(async () => client.close());
  return client;
}

/** Sends one request upon the answer to the other; those that were not answered well. */
async function oneAfterTheOther<T>(
  ends: readonly [T, T],
  send: (to: T) => Promise<unknown>,
): Promise<unknown[]> {
  const bad: unknown[] = [];
  for (let times = 0; times < TIMES; times++) {
    const got = await send(ends[times % 2] as T).catch((error: unknown) => error);
    if (got !== 'done') {
      bad.push(got);
    }
  }
  return bad;
}

describe('a client that sends its next request on the answer to its last', () => {
  describe.each(HTTP_ADAPTER_NAMES)('on %s', (adapter) => {
    it.each(KINDS)('never finds its own key busy, with a %s', async (kind) => {
      const servers = await replicas((driver) => startServer(driver, adapter));
      const send = async (to: INestApplication): Promise<unknown> => (await request(to, kind)).body;
      expect(await oneAfterTheOther(servers, send)).toEqual([]);
    });
  });

  it.each(KINDS)('never finds its own key busy, with a %s over TCP', async (kind) => {
    const clients = await replicas(startTcp);
    const send = (to: ClientProxy): Promise<unknown> => firstValueFrom(to.send(kind, ''));
    expect(await oneAfterTheOther(clients, send)).toEqual([]);
  });

  describe.each([
    ['ws', WsAdapter, openWebSocket],
    ['Socket.IO', IoAdapter, openSocketIo],
  ] as const)('on %s', (_, Adapter, connect) => {
    async function startGateway(driver: TestLockDriver): Promise<SocketClient> {
      const server = await startServer(driver, 'Express', (app) =>
        app.useWebSocketAdapter(new Adapter(app)),
      );
      const client = await connect(await server.getUrl());
      closing.push(() => client.close());
      return client;
    }

    it.each(['promise', 'observable'])('never finds its own key busy, with a %s', async (kind) => {
      const clients = await replicas(startGateway);
      const send = async (to: SocketClient): Promise<unknown> => {
        to.send(kind);
        return (await to.inbox.next()).data;
      };
      expect(await oneAfterTheOther(clients, send)).toEqual([]);
    });
  });
});
