import { IoredisConnection } from './ioredis.connection.js';
import { IoredisClusterSubscriber, IoredisSubscriber } from './ioredis.subscriber.js';
import type { Ioredis } from './ioredis.types.js';
import type { IoredisClient } from './redis-client.js';
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
const FULL_NAMES = { keyPrefix: '' };

const LISTENING = {
  ...FULL_NAMES,
  lazyConnect: false,
  autoResubscribe: false,
  enableOfflineQueue: true,
  maxRetriesPerRequest: null,
  commandTimeout: undefined,
};

/** What was cut off is unknown, and only who asked may decide to ask again. */
const NEVER_SENT_TWICE = {
  lazyConnect: true,
  autoResendUnfulfilledCommands: false,
  enableOfflineQueue: false,
  enableAutoPipelining: false,
  commandTimeout: undefined,
};

/** A client of ioredis or iovalkey. */
export class IoredisPort implements RedisPort {
  readonly isCluster: boolean;
  readonly #client: Ioredis;

  constructor(client: IoredisClient) {
    this.#client = client as Ioredis;
    this.isCluster = this.#client.isCluster === true;
  }

  evalsha(digest: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#client.evalsha(digest, keys.length, ...keys, ...args);
  }

  eval(source: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#client.eval(source, keys.length, ...keys, ...args);
  }

  info(): Promise<readonly string[]> {
    return Promise.all(this.#primaries().map((node) => node.info()));
  }

  async *scan(pattern: string): AsyncIterable<readonly string[]> {
    for (const node of this.#primaries()) {
      let cursor = '0';
      do {
        const [next, keys] = await node.scan(cursor, 'MATCH', pattern, 'COUNT', PAGE);
        yield keys;
        cursor = next;
      } while (cursor !== '0');
    }
  }

  subscribe(events: SubscriberEvents, sharded: boolean): RedisSubscriber {
    return this.isCluster
      ? new IoredisClusterSubscriber(this.#duplicateCluster(sharded), events, sharded)
      : new IoredisSubscriber(withoutNoise(this.#client.duplicate(LISTENING)), events);
  }

  async dedicated(patience: number): Promise<DedicatedConnection> {
    const client = withoutNoise(this.#client.duplicate(NEVER_SENT_TWICE));
    const connection = new IoredisConnection(client);
    try {
      await within(patience, 'on a connection of its own', client.connect());
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  #primaries(): Ioredis[] {
    return this.isCluster ? this.#client.nodes('master') : [this.#client];
  }

  #duplicateCluster(sharded: boolean): Ioredis {
    const redisOptions = { ...this.#client.options.redisOptions, ...FULL_NAMES };
    const overrides = {
      ...FULL_NAMES,
      redisOptions,
      lazyConnect: false,
      shardedSubscribers: sharded,
    };
    return withoutNoise(this.#client.duplicate([], overrides));
  }
}

/** The user's own client tells of a server that is gone; a second voice would be of no use. */
function withoutNoise(client: Ioredis): Ioredis {
  return client.on('error', () => undefined);
}
