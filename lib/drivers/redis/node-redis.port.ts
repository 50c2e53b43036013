import { NodeRedisConnection } from './node-redis.connection.js';
import { NodeRedisSubscriber } from './node-redis.subscriber.js';
import type { NodeRedis, NodeRedisCluster } from './node-redis.types.js';
import type { NodeRedisClient } from './redis-client.js';
import type {
  DedicatedConnection,
  RedisPort,
  RedisSubscriber,
  SubscriberEvents,
} from './redis-port.js';
import { within } from './within.js';

/** How many keys a server looks at in one step of a scan. */
const PAGE = 1000;

/** Channels are named in full: the client must not put its prefix before them once more. */
const LISTENING = { keyPrefix: undefined, disableOfflineQueue: false };

/** A cluster client that only listens needs no connection to the nodes that it does not listen to. */
const LISTENING_TO_A_CLUSTER = { ...LISTENING, minimizeConnections: true };

/** What was cut off is unknown, and only who asked may decide to ask again. */
const NEVER_SENT_TWICE = { disableOfflineQueue: true };

/** A client of node-redis. */
export class NodeRedisPort implements RedisPort {
  readonly isCluster: boolean;
  readonly #client: NodeRedis;

  constructor(client: NodeRedisClient) {
    this.#client = client as NodeRedis;
    this.isCluster = isCluster(this.#client);
  }

  get complaint(): string | undefined {
    return this.#client.isOpen
      ? undefined
      : 'The client is not connected: call `await client.connect()` before the application starts';
  }

  evalsha(digest: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#client.evalSha(digest, { keys: [...keys], arguments: [...args] });
  }

  eval(source: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#client.eval(source, { keys: [...keys], arguments: [...args] });
  }

  async info(): Promise<readonly string[]> {
    const primaries = await this.#primaries();
    return Promise.all(primaries.map((node) => node.info()));
  }

  async *scan(pattern: string): AsyncIterable<readonly string[]> {
    for (const node of await this.#primaries()) {
      yield* node.scanIterator({ MATCH: pattern, COUNT: PAGE });
    }
  }

  subscribe(events: SubscriberEvents, sharded: boolean): RedisSubscriber {
    const overrides = this.isCluster ? LISTENING_TO_A_CLUSTER : LISTENING;
    return new NodeRedisSubscriber(
      withoutNoise(this.#client.duplicate(overrides)),
      events,
      sharded,
    );
  }

  async dedicated(patience: number): Promise<DedicatedConnection> {
    const client = withoutNoise(this.#client.duplicate(NEVER_SENT_TWICE));
    const connection = new NodeRedisConnection(client);
    try {
      await within(patience, 'on a connection of its own', client.connect());
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  #primaries(): Promise<readonly NodeRedis[]> {
    const client = this.#client;
    return isCluster(client)
      ? Promise.all(client.masters.map((node) => client.nodeClient(node)))
      : Promise.resolve([client]);
  }
}

function isCluster(client: NodeRedis): client is NodeRedisCluster {
  return 'masters' in client;
}

/** The user's own client tells of a server that is gone; a second voice would be of no use. */
function withoutNoise(client: NodeRedis): NodeRedis {
  return client.on('error', () => undefined);
}
