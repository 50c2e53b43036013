import { AsyncResource } from 'node:async_hooks';
import type { Unsubscribe } from '../../interfaces/lock-driver.interface.js';
import { ReleaseNotices } from '../release-notices.js';
import { hasNoChangeStreams } from './mongo-errors.js';
import type { MongoChangeStream } from './mongo-port.js';

/** The pause before a stream that broke is opened again, in milliseconds; it doubles. */
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 300_000;

/** Who waited once will wait again: for so long a stream is kept though nobody listens, in milliseconds. */
const LINGER = 30_000;

/** How long the server may take to hear that a stream is not read any more, in milliseconds. */
const CLOSE_TIME = 1000;

interface Change {
  readonly documentKey: { readonly _id: string };
}

/**
 * Tells of releases by one change stream, which is opened for the first listener and read while there are any. The
 * client resumes it where it left off; if it cannot, the stream has broken, and whoever waits polls until there is
 * a new one. Then all listeners are told, for what happened in between went unheard.
 */
export class MongoReleaseStream {
  readonly #watch: () => MongoChangeStream;
  readonly #notices = new ReleaseNotices();
  #stream: MongoChangeStream | null = null;
  #broken = false;
  #closed = true;
  #warned = false;
  #pause = FIRST_PAUSE;
  #retry: NodeJS.Timeout | null = null;
  #usedAt = 0;

  constructor(watch: () => MongoChangeStream) {
    this.#watch = watch;
  }

  /** Whether a listener can hope to be told. */
  get works(): boolean {
    return !this.#broken && !this.#closed;
  }

  subscribe(key: string, listener: () => void): Unsubscribe {
    const unsubscribe = this.#notices.subscribe(key, listener);
    if (this.works && this.#stream === null) {
      this.#start();
    }
    return unsubscribe;
  }

  /** Lets listeners in, also after a close. */
  open(): void {
    this.#closed = false;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#broken = false;
    if (this.#retry !== null) {
      clearTimeout(this.#retry);
      this.#retry = null;
    }
    await this.#leave();
  }

  /** The stream outlives the caller for whom it was opened, and must not keep that one's async context. */
  readonly #start = AsyncResource.bind((): void => void this.#follow());

  async #follow(): Promise<void> {
    let stream: MongoChangeStream | null = null;
    try {
      stream = this.#watch();
      this.#stream = stream;
      const live = this.#liveOnce(stream);
      stream.once('resumeTokenChanged', live);
      this.#usedAt = performance.now();
      while (this.#stream === stream) {
        const change = await stream.tryNext();
        // A stream that the server has ended goes on answering that there is nothing, at once and for ever.
        if (stream.closed) {
          throw new Error('the server has ended the change stream');
        }
        live();
        this.#hear(change as Change | null);
      }
    } catch (error) {
      if (this.#stream === stream && !this.#closed) {
        this.#broke(error);
      }
    }
  }

  /** To be called as soon as it is known that the server sends what happens from now on. */
  #liveOnce(stream: MongoChangeStream): () => void {
    let isLive = false;
    return () => {
      if (!isLive && this.#stream === stream) {
        isLive = true;
        this.#broken = false;
        this.#pause = FIRST_PAUSE;
        this.#notices.tellAll();
      }
    };
  }

  /** Without a change the client answers once a second or so. */
  #hear(change: Change | null): void {
    const now = performance.now();
    if (this.#notices.size > 0) {
      this.#usedAt = now;
    }
    if (change !== null) {
      const { _id: key } = change.documentKey;
      this.#notices.tell(key);
    } else if (now - this.#usedAt > LINGER) {
      void this.#leave();
    }
  }

  /** Not for longer than a moment: the server ends by itself what nobody reads, and one that hangs must hold up nobody. */
  #leave(): Promise<void> {
    const stream = this.#stream;
    this.#stream = null;
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, CLOSE_TIME);
      const end = (): void => {
        clearTimeout(timer);
        resolve();
      };
      if (stream === null) {
        end();
      } else {
        stream.close().then(end, end);
      }
    });
  }

  #broke(error: unknown): void {
    void this.#leave();
    this.#broken = true;
    const pause = hasNoChangeStreams(error) ? LONGEST_PAUSE : this.#pause;
    this.#pause = Math.min(2 * pause, LONGEST_PAUSE);
    this.#retry = setTimeout(() => this.#startAgain(), pause).unref();
    if (pause === LONGEST_PAUSE) {
      this.#warn(error);
    }
  }

  #startAgain(): void {
    this.#retry = null;
    if (this.#notices.size > 0) {
      this.#start();
    } else {
      // The next listener finds out.
      this.#broken = false;
    }
  }

  #warn(error: unknown): void {
    if (!this.#warned) {
      this.#warned = true;
      const reason = error instanceof Error ? error.message : String(error);
      process.emitWarning(
        `Releases of locks are not told by MongoDB, so whoever waits asks again and again: ${reason}. ` +
          'Allow changeStream on the collection, or set changeStream: false',
        { code: 'LOCK_MONGO_CHANGE_STREAM' },
      );
    }
  }
}
