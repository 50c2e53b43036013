import type {
  RedisSubscriber,
  SubscriberEvents,
} from '../../../../lib/drivers/redis/redis-port.js';
import { Deferred } from '../../../support/deferred.js';

/** A connection that listens when the test says so. */
export class FakeSubscriber implements RedisSubscriber {
  readonly asked: string[] = [];
  readonly left: string[] = [];
  closed = 0;
  unsubscribeFails = false;
  readonly #pending = new Map<string, Deferred>();

  constructor(readonly events: SubscriberEvents) {}

  subscribe(channel: string): Promise<void> {
    this.asked.push(channel);
    const pending = new Deferred();
    this.#pending.set(channel, pending);
    return pending.promise;
  }

  unsubscribe(channel: string): Promise<void> {
    this.left.push(channel);
    return this.unsubscribeFails ? Promise.reject(new Error('closed')) : Promise.resolve();
  }

  close(): void {
    this.closed++;
  }

  /** Says that a channel is listened to. */
  live(channel: string): void {
    this.#pending.get(channel)?.resolve();
  }

  /** Says that a channel cannot be listened to. */
  refuse(channel: string, error: unknown): void {
    this.#pending.get(channel)?.reject(error);
  }

  /** The channels that it listens to now, or will. */
  get channels(): string[] {
    return this.asked.filter((channel) => !this.left.includes(channel));
  }
}
