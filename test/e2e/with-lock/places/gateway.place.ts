import type { EventEmitter } from 'node:events';
import { Inject, type INestApplication, type WebSocketAdapter } from '@nestjs/common';
import { IoAdapter } from '@nestjs/platform-socket.io';
import { WsAdapter } from '@nestjs/platform-ws';
import { SubscribeMessage, WebSocketGateway, type WsResponse } from '@nestjs/websockets';
import { LockService, WithLock } from 'nestjs-distributed-lock';
import { map, Observable } from 'rxjs';
import { expect, inject } from 'vitest';
import { serve } from '../../../support/http.js';
import { Inbox } from '../../../support/inbox.js';
import { type SocketClient, openSocketIo, openWebSocket } from '../../../support/sockets.js';
import { Stage } from '../../../support/stage.js';
import { KEY, moduleOf, type Outcome, type Place, plainValue } from './place.js';

const answer = (data: string): WsResponse<string> => ({ event: 'answer', data });

@WebSocketGateway()
class StageGateway {
  /** Exceptions that are told to nobody: Nest 11 emits them on the server's own end of a plain WebSocket. */
  readonly unsent = new Inbox<unknown>();

  constructor(@Inject(Stage) private readonly stage: Stage) {}

  handleConnection(client: EventEmitter): void {
    client.on('exception', (exception) => this.unsent.add(exception));
  }

  @SubscribeMessage('promise')
  @WithLock(KEY)
  promise(): Promise<WsResponse<string>> {
    return this.stage.promise().then(answer);
  }

  @SubscribeMessage('observable')
  @WithLock(KEY)
  observable(): Observable<WsResponse<string>> {
    return this.stage.observable().pipe(map(answer));
  }

  @SubscribeMessage('promiseOfObservable')
  @WithLock(KEY)
  async promiseOfObservable(): Promise<Observable<WsResponse<string>>> {
    return (await this.stage.promiseOfObservable()).pipe(map(answer));
  }

  @SubscribeMessage('ping')
  ping(): WsResponse<string> {
    return answer('pong');
  }
}

async function ping(client: SocketClient): Promise<void> {
  client.send('ping');
  expect(await client.inbox.next()).toEqual(answer('pong'));
}

async function call(client: SocketClient, gateway: StageGateway, event: string): Promise<Outcome> {
  client.send(event);
  const told = client.inbox.next();
  const unsent = gateway.unsent.next().then((exception) => ({ event: 'unsent', data: exception }));
  const message = await Promise.race([told, unsent]);
  if (message.event === 'unsent') {
    client.send('ping');
    expect(await told).toEqual(answer('pong'));
    return { error: { unsent: message.data } };
  }
  return message.event === 'answer' ? { value: message.data } : { error: message.data };
}

function gatewayPlace(
  Adapter: new (app: INestApplication) => WebSocketAdapter,
  connect: (url: string) => Promise<SocketClient>,
  seen: (exception: unknown) => Outcome,
): Place {
  return {
    async open(setUp) {
      const app = await serve('Express', moduleOf(setUp, { providers: [StageGateway] }), (it) =>
        it.useWebSocketAdapter(new Adapter(it)),
      );
      const clients: SocketClient[] = [];
      const newClient = async (): Promise<SocketClient> => {
        const client = await connect(await app.getUrl());
        clients.push(client);
        return client;
      };
      return {
        locks: [app.get(LockService)],
        call: async (kind) => call(await newClient(), app.get(StageGateway), kind),
        ping: async () => ping(await newClient()),
        async close() {
          await Promise.all(clients.map((client) => client.close()));
          await app.close();
        },
      };
    },
    value: plainValue,
    lockError: (statusCode, code) => seen({ statusCode, code, message: expect.any(String) }),
    ownError: () =>
      seen(expect.objectContaining({ status: 'error', message: 'Internal server error' })),
  };
}

/** A gateway on plain WebSockets; Nest 11 tells their clients of no error. */
export const wsPlace = gatewayPlace(WsAdapter, openWebSocket, (exception) => ({
  error: inject('nest') === 11 ? { unsent: exception } : exception,
}));

/** A gateway on Socket.IO. */
export const socketIoPlace = gatewayPlace(IoAdapter, openSocketIo, (error) => ({ error }));
