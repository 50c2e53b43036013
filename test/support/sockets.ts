import { once } from 'node:events';
import { io } from 'socket.io-client';
import { WebSocket } from 'ws';
import { Inbox } from './inbox.js';

/** What came over a socket. */
export interface SocketMessage {
  readonly event: string;
  readonly data: unknown;
}

/** A client of a gateway, the same for both protocols. */
export interface SocketClient {
  readonly inbox: Inbox<SocketMessage>;
  send(event: string, data?: unknown): void;
  close(): Promise<void>;
}

export async function openWebSocket(url: string): Promise<SocketClient> {
  const socket = new WebSocket(url.replace('http', 'ws'));
  const inbox = new Inbox<SocketMessage>();
  socket.on('message', (raw: Buffer) => inbox.add(JSON.parse(raw.toString()) as SocketMessage));
  await once(socket, 'open');
  return {
    inbox,
    send: (event, data = '') => socket.send(JSON.stringify({ event, data })),
    async close() {
      if (socket.readyState !== WebSocket.CLOSED) {
        socket.close();
        await once(socket, 'close');
      }
    },
  };
}

export async function openSocketIo(url: string): Promise<SocketClient> {
  const socket = io(url, { transports: ['websocket'], reconnection: false, forceNew: true });
  const inbox = new Inbox<SocketMessage>();
  socket.onAny((event: string, data: unknown) => inbox.add({ event, data }));
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('connect_error', reject);
  });
  return {
    inbox,
    send: (event, data = '') => void socket.emit(event, data),
    close() {
      socket.disconnect();
      return Promise.resolve();
    },
  };
}
