import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  type INestApplication,
  Inject,
  Injectable,
  Logger,
  UseFilters,
} from '@nestjs/common';
import { IoAdapter } from '@nestjs/platform-socket.io';
import { WsAdapter } from '@nestjs/platform-ws';
import {
  MessageBody,
  SubscribeMessage,
  WebSocketGateway,
  WsException,
  type WsResponse,
} from '@nestjs/websockets';
import {
  DistributedLockModule,
  type DistributedLockModuleOptions,
  LockExceptionFilter,
  LockTimeoutError,
  WithLock,
} from 'nestjs-distributed-lock';
import { TestLockDriver } from 'nestjs-distributed-lock/testing';
import { from, map, Observable } from 'rxjs';
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { serve } from '../../support/http.js';
import { openSocketIo, openWebSocket, type SocketClient } from '../../support/sockets.js';

@Injectable()
class OrdersService {
  @WithLock('order:<0>')
  async pay(_id: string): Promise<string> {
    return 'paid';
  }

  @WithLock('order:<0>')
  watch(_id: string): Observable<string> {
    return from(['paid']);
  }
}

/** What both kinds of sockets have, each in its own way. */
interface Socket {
  readonly readyState?: number;
  emit(event: string, data: unknown): void;
  send(message: string): void;
}

@Catch(LockTimeoutError)
class BusyFilter implements ExceptionFilter<LockTimeoutError> {
  catch(error: LockTimeoutError, host: ArgumentsHost): void {
    const client = host.switchToWs().getClient<Socket>();
    const data = { mine: error instanceof LockTimeoutError, keys: error.keys };
    if (client.readyState === undefined) {
      client.emit('exception', data);
    } else {
      client.send(JSON.stringify({ event: 'exception', data }));
    }
  }
}

const answer = (data: string): WsResponse<string> => ({ event: 'answer', data });

@WebSocketGateway()
class OrdersGateway {
  constructor(@Inject(OrdersService) private readonly orders: OrdersService) {}

  @SubscribeMessage('locked')
  @WithLock('order:<0>')
  async locked(@MessageBody() _id: string): Promise<WsResponse<string>> {
    return answer('paid');
  }

  @SubscribeMessage('observed')
  @WithLock('order:<0>')
  observed(@MessageBody() _id: string): Observable<WsResponse<string>> {
    return from([answer('paid')]);
  }

  @SubscribeMessage('by-service')
  async byService(@MessageBody() id: string): Promise<WsResponse<string>> {
    return answer(await this.orders.pay(id));
  }

  @SubscribeMessage('by-observable')
  byObservable(@MessageBody() id: string): Observable<WsResponse<string>> {
    return this.orders.watch(id).pipe(map(answer));
  }

  @SubscribeMessage('filtered')
  @UseFilters(BusyFilter)
  @WithLock('order:<0>')
  async filtered(@MessageBody() _id: string): Promise<WsResponse<string>> {
    return answer('paid');
  }

  @SubscribeMessage('filtered-by-service')
  @UseFilters(BusyFilter)
  async filteredByService(@MessageBody() id: string): Promise<WsResponse<string>> {
    return answer(await this.orders.pay(id));
  }

  @SubscribeMessage('helped-by-service')
  @UseFilters(LockExceptionFilter)
  async helpedByService(@MessageBody() id: string): Promise<WsResponse<string>> {
    return answer(await this.orders.pay(id));
  }

  @SubscribeMessage('helped-by-observable')
  @UseFilters(LockExceptionFilter)
  helpedByObservable(@MessageBody() id: string): Observable<WsResponse<string>> {
    return this.orders.watch(id).pipe(map(answer));
  }
}

const LAYERS = ['locked', 'observed', 'by-service', 'by-observable'];

describe.each([
  ['ws', WsAdapter, openWebSocket],
  ['Socket.IO', IoAdapter, openSocketIo],
] as const)('a message over %s', (name, Adapter, connect) => {
  // Nest 11 tells clients of plain WebSockets of no exception, and its global interceptors do not reach gateways.
  const told = (layers: readonly string[]): string[] =>
    layers.filter((layer) => inject('nest') > 11 || (name !== 'ws' && !layer.startsWith('by-')));
  let driver: TestLockDriver;
  let app: INestApplication;
  let client: SocketClient;

  beforeEach(() => {
    driver = new TestLockDriver();
    vi.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  });

  afterEach(async () => {
    await client.close();
    await app.close();
    vi.restoreAllMocks();
  });

  async function start(options: Partial<DistributedLockModuleOptions> = {}): Promise<void> {
    app = await serve(
      'Express',
      {
        imports: [DistributedLockModule.forRoot({ driver, wait: 0, ...options })],
        providers: [OrdersService, OrdersGateway],
      },
      (server) => server.useWebSocketAdapter(new Adapter(server)),
    );
    client = await connect(await app.getUrl());
  }

  async function send(event: string): Promise<unknown> {
    client.send(event, '7');
    return client.inbox.next();
  }

  it.each(LAYERS)('is answered when the lock is free: %s', async (layer) => {
    await start();
    expect(await send(layer)).toEqual(answer('paid'));
  });

  it.each(told([...LAYERS, 'helped-by-service', 'helped-by-observable']))(
    'is answered with LOCK_TIMEOUT when the lock is busy: %s',
    async (layer) => {
      await start();
      driver.busyNext();
      const message: unknown = expect.not.stringContaining('order');
      expect(await send(layer)).toEqual({
        event: 'exception',
        data: { statusCode: 423, code: 'LOCK_TIMEOUT', message },
      });
    },
  );

  it.each(told(LAYERS))(
    'is answered with LOCK_DRIVER when the backend is down: %s',
    async (layer) => {
      await start();
      driver.failNext(1, { error: new Error('ECONNREFUSED 10.0.0.7') });
      const message: unknown = expect.not.stringContaining('10.0.0.7');
      expect(await send(layer)).toEqual({
        event: 'exception',
        data: { statusCode: 503, code: 'LOCK_DRIVER', message },
      });
    },
  );

  it.each(['filtered', 'filtered-by-service'])(
    "is answered by a user's own filter: %s",
    async (event) => {
      await start();
      driver.busyNext();
      expect(await send(event)).toEqual({
        event: 'exception',
        data: { mine: true, keys: ['order:7'] },
      });
    },
  );

  it.each(told(['locked', 'by-service']))(
    'is answered in the way of Nest where mapErrors is false: %s',
    async (event) => {
      await start({ mapErrors: false });
      driver.busyNext();
      expect(await send(event)).toMatchObject({
        event: 'exception',
        data: { status: 'error', message: 'Internal server error' },
      });
    },
  );

  it.each(told(['locked', 'by-service']))(
    'is answered with what mapErrors makes of the error: %s',
    async (event) => {
      await start({
        mapErrors: (error, host) => new WsException({ type: host.getType(), busy: error.key }),
      });
      driver.busyNext();
      expect(await send(event)).toEqual({
        event: 'exception',
        data: { type: 'ws', busy: 'order:7' },
      });
    },
  );
});
