import type { ClientLibrary, OpenClient } from './client-library.js';
import type { RedisAddress } from './redis-address.js';

// A test that waits for a client to come back does not wait for long.
const RECONNECT = { reconnectStrategy: 20 };

/** What the clients of node-redis, of its majors, have in common. */
interface NodeClient {
  readonly isOpen: boolean;
  connect(): Promise<unknown>;
  destroy(): void;
  on(event: 'error', listener: (error: unknown) => void): unknown;
}

interface SingleClient extends NodeClient {
  sendCommand(args: string[]): Promise<unknown>;
}

interface ClusterClient extends NodeClient {
  sendCommand(key: string | undefined, isReadonly: boolean, args: string[]): Promise<unknown>;
}

interface Credentials {
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly socket: object;
}

interface SingleOptions {
  readonly socket?: object;
}

interface Constructors<C, Cluster, Options, ClusterOptions> {
  single(options: Options): C;
  cluster(options: ClusterOptions): Cluster;
}

/** The clients of node-redis. */
export function nodeRedisLibrary<
  C extends SingleClient,
  Cluster extends ClusterClient,
  Options extends SingleOptions,
  ClusterOptions extends object,
>(
  name: string,
  make: Constructors<C, Cluster, Options, ClusterOptions>,
): ClientLibrary<C, Cluster, Options, ClusterOptions> {
  return {
    name,
    standalone: ({ host, port, username, password }, options) => {
      const socket = { host, port, ...RECONNECT, ...options?.socket };
      const all: Credentials = { username, password, ...options, socket };
      const client = make.single(all as SingleOptions as Options);
      return new NodeRedisClient(client, (args) => client.sendCommand(args));
    },
    cluster: (nodes, options) => {
      const usual = { rootNodes: nodes.map(rootNode), defaults: { socket: RECONNECT } };
      const client = make.cluster({ ...usual, ...options } as ClusterOptions);
      return new NodeRedisClient(client, (args) => client.sendCommand(args[1], false, args));
    },
  };
}

class NodeRedisClient<C extends NodeClient> implements OpenClient<C> {
  readonly errors: unknown[] = [];

  constructor(
    readonly client: C,
    private readonly send: (args: string[]) => Promise<unknown>,
  ) {
    client.on('error', (error) => this.errors.push(error));
  }

  async connect(): Promise<this> {
    await this.client.connect();
    return this;
  }

  command(...args: string[]): Promise<unknown> {
    return this.send(args);
  }

  close(): Promise<void> {
    if (this.client.isOpen) {
      this.client.destroy();
    }
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function rootNode({ host, port }: RedisAddress): object {
  return { socket: { host, port } };
}
