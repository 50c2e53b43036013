import { randomUUID } from 'node:crypto';
import type { Unsubscribe } from '../../interfaces/lock-driver.interface.js';
import { ReleaseNotices } from '../release-notices.js';
import { answerWithin } from './answer-limit.js';
import type { ClientFactory } from './client-factory.js';
import type { Lanes } from './lanes.js';
import { destroy, sayGoodbye } from './pg-connection.js';
import type { PgClient } from './pg-port.js';

/** How long a notice of our own may take before notices count as not delivered. */
const PROBE_TIMEOUT = 2000;

/** The pause before the next try to listen doubles from the first to the last of these. */
const RETRY = { broken: { first: 100, last: 5000 }, silent: { first: 60_000, last: 600_000 } };

interface Retry {
  readonly first: number;
  readonly last: number;
}

/** What the listener needs of the driver. */
export interface ListenerOptions {
  readonly create: ClientFactory;
  /** Where notices of our own are sent from. */
  readonly lanes: Lanes;
  readonly channel: string;
  /** Whether notices may be counted on before one was seen. */
  readonly trusting: boolean;
}

/**
 * One connection that listens for releases of wanted locks, from the first time that somebody waits. A pooler may take
 * LISTEN and deliver nothing, so every connection has to hear a notice of our own first.
 */
export class ReleaseListener {
  readonly #options: ListenerOptions;
  readonly #notices = new ReleaseNotices();
  #works: boolean;
  #client: PgClient | null = null;
  #state: 'off' | 'starting' | 'live' | 'waiting' | 'closed' = 'off';
  #retry: NodeJS.Timeout | undefined;
  #pause = 0;
  #attempt = 0;
  #probe: { readonly payload: string; readonly heard: () => void } | null = null;

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#works = options.trusting;
  }

  /** Whether releases are heard of, as far as is known. */
  get works(): boolean {
    return this.#works;
  }

  subscribe(key: string, listener: () => void): Unsubscribe {
    this.start();
    return this.#notices.subscribe(key, listener);
  }

  /** Begins to listen if it does not yet; until it does, nothing is heard. */
  start(): void {
    if (this.#state === 'off') {
      void this.#start();
    }
  }

  reopen(): void {
    this.#state = this.#state === 'closed' ? 'off' : this.#state;
  }

  async close(): Promise<void> {
    this.#state = 'closed';
    clearTimeout(this.#retry);
    const client = this.#client;
    this.#client = null;
    if (client !== null) {
      await sayGoodbye(client);
    }
  }

  async #start(): Promise<void> {
    this.#state = 'starting';
    const attempt = ++this.#attempt;
    let client: PgClient | null = null;
    try {
      client = await this.#options.create();
      this.#adopt(client, attempt);
      await this.#listen(client);
      if (await this.#hearsItself()) {
        this.#live(client);
      } else {
        await this.#unlisten(client);
        this.#failed(client, this.#options.trusting ? RETRY.broken : RETRY.silent);
      }
    } catch {
      this.#failed(client, RETRY.broken);
    }
  }

  /** From here on the client is the one that counts, unless the driver was closed meanwhile. */
  #adopt(client: PgClient, attempt: number): void {
    if (attempt !== this.#attempt || this.#state !== 'starting') {
      throw new Error('closed');
    }
    this.#client = client;
    client.on('error', () => this.#failed(client, RETRY.broken));
    client.on('end', () => this.#failed(client, RETRY.broken));
    client.on('notification', ({ payload }) => this.#heard(payload ?? ''));
  }

  async #listen(client: PgClient): Promise<void> {
    await client.connect();
    const listening = client.query({ text: `LISTEN "${this.#options.channel}"` });
    await answerWithin(listening, { ms: PROBE_TIMEOUT, onSilence: () => destroy(client) });
    client.connection?.stream?.unref?.();
  }

  /** A pooler hands the session to others: it shall not get notices that nobody there expects. */
  async #unlisten(client: PgClient): Promise<void> {
    const ended = client.query({ text: `UNLISTEN "${this.#options.channel}"` });
    const limit = { ms: PROBE_TIMEOUT, onSilence: () => destroy(client) };
    await answerWithin(ended, limit).catch(() => undefined);
  }

  /** From another connection: a pooler would hand a session's own notices back to it. */
  async #hearsItself(): Promise<boolean> {
    const { lanes, channel } = this.#options;
    const payload = `p${randomUUID()}`;
    const heard = new Promise<void>((resolve) => (this.#probe = { payload, heard: resolve }));
    await lanes.run({
      name: 'lock-probe',
      text: 'SELECT pg_notify($1, $2)::text',
      values: [channel, payload],
    });
    return answerWithin(heard, { ms: PROBE_TIMEOUT, onSilence: () => undefined }).then(
      () => true,
      () => false,
    );
  }

  #heard(payload: string): void {
    if (payload === this.#probe?.payload) {
      this.#probe.heard();
    } else if (payload.startsWith('k')) {
      this.#notices.tell(payload.slice(1));
    }
  }

  /** Whatever was released before went unheard. */
  #live(client: PgClient): void {
    if (this.#client !== client) {
      destroy(client);
      return;
    }
    this.#state = 'live';
    this.#works = true;
    this.#pause = 0;
    this.#notices.tellAll();
  }

  #failed(client: PgClient | null, retry: Retry): void {
    const counted = this.#client === client;
    if (client !== null) {
      destroy(client);
    }
    if (counted) {
      this.#client = null;
      this.#tryAgain(retry);
    }
  }

  #tryAgain({ first, last }: Retry): void {
    if (this.#state === 'closed' || this.#state === 'waiting') {
      return;
    }
    this.#state = 'waiting';
    this.#works = false;
    this.#pause = Math.min(last, Math.max(first, 2 * this.#pause));
    this.#retry = setTimeout(() => void this.#start(), this.#pause);
    this.#retry.unref();
  }
}
