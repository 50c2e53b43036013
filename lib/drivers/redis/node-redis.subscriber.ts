import type { ChannelListener, NodeRedis } from './node-redis.types.js';
import type { RedisSubscriber, SubscriberEvents } from './redis-port.js';

/** Listens; the client subscribes anew by itself before it says that it is ready again. */
export class NodeRedisSubscriber implements RedisSubscriber {
  readonly #connected: Promise<unknown>;
  readonly #listener: ChannelListener;

  constructor(
    private readonly client: NodeRedis,
    events: SubscriberEvents,
    private readonly sharded: boolean,
  ) {
    this.#listener = (_message, channel) => events.message(channel);
    for (const event of ['ready', 'node-ready']) {
      client.on(event, () => events.restored());
    }
    client.on('end', () => events.ended());
    this.#connected = client.connect();
    this.#connected.catch(() => events.ended());
  }

  async subscribe(channel: string): Promise<void> {
    await this.#connected;
    await (this.sharded
      ? this.client.sSubscribe(channel, this.#listener)
      : this.client.subscribe(channel, this.#listener));
  }

  async unsubscribe(channel: string): Promise<void> {
    await this.#connected;
    await (this.sharded ? this.client.sUnsubscribe(channel) : this.client.unsubscribe(channel));
  }

  close(): void {
    closeQuietly(this.client);
  }
}

/** A client that is closed already, or has never been open, says so by an error. */
export function closeQuietly(client: NodeRedis): void {
  try {
    client.destroy();
  } catch {
    // Closed it is.
  }
}
