import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { onFreePort } from '../redis/free-port.js';

/** Where something listens. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

const HOST = '127.0.0.1';

/** The network between one process and its server, whatever they speak: it can break, or go silent. */
export class Wire implements Endpoint, AsyncDisposable {
  readonly host = HOST;
  /** How many bytes have reached the client. */
  delivered = 0;
  readonly #sockets = new Set<Socket>();
  /** What has got stuck, in its order. */
  #stuck: (() => void)[] | null = null;
  #server: Server | undefined;

  private constructor(
    readonly port: number,
    private readonly target: Endpoint,
  ) {}

  static start(target: Endpoint): Promise<Wire> {
    return onFreePort(async (port) => {
      const wire = new Wire(port, target);
      await wire.#listen();
      return wire;
    });
  }

  /** How many messages have got stuck in a silent network. */
  get stuck(): number {
    return this.#stuck?.length ?? 0;
  }

  /** Breaks all connections, and refuses new ones. */
  cut(): void {
    this.#server?.close();
    this.#server = undefined;
    this.#breakAll();
  }

  /** Takes connections and bytes, and passes nothing on. */
  silence(): void {
    this.#stuck ??= [];
  }

  /** The network is back; what has got stuck arrives, late, unless it is to be lost with its connections. */
  async heal({ lost = false }: { readonly lost?: boolean } = {}): Promise<void> {
    const stuck = this.#stuck ?? [];
    this.#stuck = null;
    if (lost) {
      this.#breakAll();
    } else {
      stuck.forEach((arrive) => arrive());
    }
    await this.#listen();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await Promise.resolve();
  }

  async #listen(): Promise<void> {
    if (this.#server === undefined) {
      const server = createServer({ noDelay: true }, (client) => this.#join(client));
      this.#server = server;
      server.listen(this.port, HOST);
      await once(server, 'listening');
    }
  }

  #join(client: Socket): void {
    const { host, port } = this.target;
    const server = connect({ host, port, noDelay: true });
    this.#lead(client, server, () => undefined);
    this.#lead(server, client, (bytes) => (this.delivered += bytes));
  }

  #lead(from: Socket, to: Socket, passed: (bytes: number) => void): void {
    this.#sockets.add(from);
    from.on('error', () => undefined);
    from.on('data', (chunk) =>
      this.#pass(() => {
        to.write(chunk);
        passed(chunk.length);
      }),
    );
    from.once('close', () => {
      this.#sockets.delete(from);
      this.#pass(() => to.destroySoon());
    });
  }

  #pass(arrive: () => void): void {
    if (this.#stuck === null) {
      arrive();
    } else {
      this.#stuck.push(arrive);
    }
  }

  #breakAll(): void {
    this.#sockets.forEach((socket) => socket.destroy());
  }
}
