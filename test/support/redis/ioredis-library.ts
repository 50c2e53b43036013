import type { OpenClient, SentinelLibrary } from './client-library.js';
import type { RedisAddress } from './redis-address.js';

/** What the clients of ioredis, of its majors and forks, have in common. */
interface IoClient {
  readonly status: string;
  connect(): Promise<void>;
  disconnect(): void;
  call(name: string, ...args: string[]): Promise<unknown>;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  once(event: string | symbol, listener: (...args: unknown[]) => void): unknown;
}

interface Endpoint {
  readonly host: string;
  readonly port: number;
}

interface Constructors<C, Cluster, Options, ClusterOptions> {
  single(options: Options): C;
  cluster(nodes: Endpoint[], options: ClusterOptions): Cluster;
}

/** The clients of ioredis or of a fork of it. */
export function ioredisLibrary<
  C extends IoClient,
  Cluster extends IoClient,
  Options extends object,
  ClusterOptions extends object,
>(
  name: string,
  make: Constructors<C, Cluster, Options, ClusterOptions>,
): SentinelLibrary<C, Cluster, Options, ClusterOptions> {
  // A test that waits for a client to come back does not wait for long.
  const usual = { lazyConnect: true, retryStrategy: () => 20 };
  return {
    name,
    standalone: ({ host, port, username, password }, options) =>
      new IoredisClient(
        make.single({ ...usual, host, port, username, password, ...options } as Options),
      ),
    sentinel: (watched, options) =>
      new IoredisClient(
        make.single({
          ...usual,
          name: watched.name,
          sentinels: watched.sentinels.map(endpoint),
          sentinelRetryStrategy: usual.retryStrategy,
          ...options,
        } as Options),
      ),
    cluster: (nodes, options) =>
      new IoredisClient(
        make.cluster(nodes.map(endpoint), {
          lazyConnect: true,
          clusterRetryStrategy: usual.retryStrategy,
          ...options,
        } as ClusterOptions),
      ),
  };
}

class IoredisClient<C extends IoClient> implements OpenClient<C> {
  readonly errors: unknown[] = [];

  constructor(readonly client: C) {
    client.on('error', (error) => this.errors.push(error));
  }

  async connect(): Promise<this> {
    if (this.client.status === 'wait') {
      await this.client.connect();
    } else if (this.client.status !== 'ready') {
      await new Promise<void>((resolve) => this.client.once('ready', () => resolve()));
    }
    return this;
  }

  command(name: string, ...args: string[]): Promise<unknown> {
    // iovalkey finds the keys of commands in small letters only.
    return this.client.call(name.toLowerCase(), ...args);
  }

  // It does not wait for `end`, which never comes if the client is between two attempts to connect.
  close(): Promise<void> {
    this.client.disconnect();
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function endpoint({ host, port }: RedisAddress): Endpoint {
  return { host, port };
}
