import type { Ioredis } from './ioredis.types.js';
import { CannotListenError, type RedisSubscriber, type SubscriberEvents } from './redis-port.js';

/** Listens on one connection; it subscribes anew by itself, so that it knows when it is heard again. */
export class IoredisSubscriber implements RedisSubscriber {
  readonly #channels = new Set<string>();

  constructor(
    private readonly client: Ioredis,
    events: SubscriberEvents,
  ) {
    client.on('message', (channel: string) => events.message(channel));
    // What was asked for before the first time goes out by itself.
    client.once('ready', () => client.on('ready', () => this.#renew(events)));
    client.on('end', () => events.ended());
  }

  async subscribe(channel: string): Promise<void> {
    this.#channels.add(channel);
    await this.client.subscribe(channel);
  }

  async unsubscribe(channel: string): Promise<void> {
    this.#channels.delete(channel);
    await this.client.unsubscribe(channel);
  }

  close(): void {
    this.client.disconnect();
  }

  #renew(events: SubscriberEvents): void {
    if (this.#channels.size > 0) {
      this.client.subscribe(...this.#channels).then(
        () => events.restored(),
        () => undefined,
      );
    }
  }
}

/** Listens in a cluster: the client goes from node to node, and subscribes anew when it has to. */
export class IoredisClusterSubscriber implements RedisSubscriber {
  constructor(
    private readonly client: Ioredis,
    events: SubscriberEvents,
    private readonly sharded: boolean,
  ) {
    client.on(sharded ? 'smessage' : 'message', (channel: string) => events.message(channel));
    for (const event of ['ready', '+subscriber', 'subscribersReady']) {
      client.on(event, () => events.restored());
    }
    client.on('end', () => events.ended());
  }

  async subscribe(channel: string): Promise<void> {
    if (!this.sharded) {
      await this.client.subscribe(channel);
    } else if (this.client.shardedSubscribers) {
      await this.client.ssubscribe(channel);
    } else {
      throw new CannotListenError('this client cannot listen to the shards of a cluster');
    }
  }

  async unsubscribe(channel: string): Promise<void> {
    await (this.sharded ? this.client.sunsubscribe(channel) : this.client.unsubscribe(channel));
  }

  close(): void {
    this.client.disconnect();
  }
}
