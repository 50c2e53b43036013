import type { Unsubscribe } from '../../interfaces/lock-driver.interface.js';
import { ReleaseNotices } from '../release-notices.js';
import { codeOf, explain } from './explain-error.js';
import { CannotListenError, type RedisSubscriber, type SubscriberEvents } from './redis-port.js';

/** How long a channel that nobody listens to any more is kept, in milliseconds: who wanted a lock is likely to want it again. */
const IDLE_TIME = 5000;

/** The pause before what was lost with a connection is subscribed to again. */
const RETRY_AFTER = 1000;

/** How long no notices are asked for after they were refused. */
const REFUSED_FOR = 30_000;

interface Channel {
  listeners: number;
  /** Nobody has listened to it since the last look. */
  isIdle: boolean;
}

/**
 * Notices of releases, one channel for each key, by a second connection that is opened when the first listener comes and closed some time after
 * the last has left. All of it is a hint: where it fails, waiters come back by themselves.
 */
export class ReleaseChannels {
  readonly #open: (events: SubscriberEvents) => RedisSubscriber;
  readonly #prefix: string;
  readonly #notices = new ReleaseNotices();
  readonly #channels = new Map<string, Channel>();
  #subscriber: RedisSubscriber | null = null;
  #sweep: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  #hasWarned = false;
  #refusedUntil = 0;
  #isClosed = false;

  /** @param prefix what all channels begin with: they are named as the keys are, in full */
  constructor(prefix: string, open: (events: SubscriberEvents) => RedisSubscriber) {
    this.#prefix = prefix;
    this.#open = open;
  }

  /** Whether notices can be hoped for: where not, who gives a lock back has to leave others more time. */
  get work(): boolean {
    return performance.now() >= this.#refusedUntil;
  }

  listen(key: string, listener: () => void): Unsubscribe {
    if (this.#isClosed) {
      return () => undefined;
    }
    const leave = this.#notices.subscribe(key, listener);
    const channel = this.#channelOf(key);
    channel.listeners++;
    let isHere = true;
    return () => {
      if (isHere) {
        isHere = false;
        leave();
        channel.listeners--;
        this.#sweep ??= setTimeout(() => this.#dropIdle(), IDLE_TIME).unref();
      }
    };
  }

  /** Whether releases of the key are heard of here, or soon will be, by somebody or by nobody. */
  isListening(key: string): boolean {
    return this.#channels.has(key);
  }

  /** Nobody will listen any more. */
  close(): void {
    this.#isClosed = true;
    this.#leaveAll();
  }

  #leaveAll(): void {
    clearTimeout(this.#sweep);
    clearTimeout(this.#retry);
    this.#sweep = undefined;
    this.#retry = undefined;
    this.#channels.clear();
    const subscriber = this.#subscriber;
    this.#subscriber = null;
    subscriber?.close();
  }

  #channelOf(key: string): Channel {
    let channel = this.#channels.get(key);
    if (channel === undefined) {
      channel = { listeners: 0, isIdle: false };
      this.#channels.set(key, channel);
      this.#subscribe(key);
    }
    channel.isIdle = false;
    return channel;
  }

  #subscribe(key: string): void {
    this.#subscriber ??= this.#connect();
    this.#subscriber.subscribe(this.#prefix + key).then(
      () => this.#notices.tell(key),
      (error: unknown) => this.#failed(key, error),
    );
  }

  #connect(): RedisSubscriber {
    const subscriber = this.#open({
      message: (channel) => this.#notices.tell(channel.slice(this.#prefix.length)),
      restored: () => this.#tellAll(),
      ended: () => this.#ended(subscriber),
    });
    return subscriber;
  }

  #tellAll(): void {
    for (const key of this.#channels.keys()) {
      this.#notices.tell(key);
    }
  }

  #failed(key: string, error: unknown): void {
    if (this.#isClosed) {
      return;
    }
    if (error instanceof CannotListenError || codeOf(error) !== '') {
      this.#channels.delete(key);
      this.#refused(error);
    } else {
      this.#restartSoon();
    }
  }

  /** Asking again and again would be of no use: whoever listens after a while does. */
  #refused(error: unknown): void {
    this.#refusedUntil = performance.now() + REFUSED_FOR;
    if (!this.#hasWarned) {
      this.#hasWarned = true;
      const reason = explain(error).message;
      process.emitWarning(
        `Redis gives no notice of released locks (${reason}): who waits for one asks again and again instead`,
      );
    }
  }

  #ended(subscriber: RedisSubscriber): void {
    if (this.#subscriber === subscriber) {
      this.#subscriber = null;
      this.#restartSoon();
    }
  }

  #restartSoon(): void {
    this.#retry ??= setTimeout(() => this.#restart(), RETRY_AFTER).unref();
  }

  #restart(): void {
    this.#retry = undefined;
    for (const key of this.#channels.keys()) {
      this.#subscribe(key);
    }
  }

  /** Leaves channels that nobody has listened to from one look to the next, and the connection with the last of them. */
  #dropIdle(): void {
    this.#sweep = undefined;
    for (const [key, channel] of this.#channels) {
      if (channel.listeners === 0 && channel.isIdle) {
        this.#channels.delete(key);
        this.#subscriber?.unsubscribe(this.#prefix + key).catch(() => undefined);
      }
      channel.isIdle = channel.listeners === 0;
    }
    if (this.#channels.size === 0) {
      this.#leaveAll();
    } else {
      this.#sweep = setTimeout(() => this.#dropIdle(), IDLE_TIME).unref();
    }
  }
}
