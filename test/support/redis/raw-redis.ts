import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Deferred } from '../deferred.js';
import { RespReader, type RespValue } from './resp-reader.js';

/** A connection that says just what it is told to, and never tries again. */
export class RawRedis implements AsyncDisposable {
  readonly #reader = new RespReader();
  readonly #waiting: Deferred<RespValue>[] = [];

  private constructor(private readonly socket: Socket) {
    socket.on('data', (chunk) =>
      this.#reader.read(chunk).forEach(({ value }) => this.#take(value)),
    );
    socket.on('error', () => undefined);
    socket.once('close', () => this.#take(new Error('The connection is closed'), true));
  }

  static async open({ host, port }: { host: string; port: number }): Promise<RawRedis> {
    const socket = connect({ host, port, noDelay: true });
    await once(socket, 'connect');
    return new RawRedis(socket);
  }

  /** The server's answer; an error of the server rejects. */
  send(...args: (string | number)[]): Promise<RespValue> {
    const reply = new Deferred<RespValue>();
    this.#waiting.push(reply);
    this.socket.write(
      `*${args.length}\r\n${args.map((arg) => `$${Buffer.byteLength(`${arg}`)}\r\n${arg}\r\n`).join('')}`,
    );
    if (this.socket.destroyed) {
      this.#take(new Error('The connection is closed'), true);
    }
    return reply.promise;
  }

  async close(): Promise<void> {
    if (!this.socket.closed) {
      this.socket.destroy();
      await once(this.socket, 'close');
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #take(value: RespValue, all = false): void {
    for (const reply of this.#waiting.splice(0, all ? Infinity : 1)) {
      if (value instanceof Error) {
        reply.reject(value);
      } else {
        reply.resolve(value);
      }
    }
  }
}
