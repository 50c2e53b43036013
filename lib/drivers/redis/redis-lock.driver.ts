import { LockConfigError } from '../../errors/lock-config.error.js';
import type {
  AcquireRequest,
  Admission,
  AdmitRequest,
  Denial,
  Grant,
  ListRequest,
  LockDriver,
  LockRecord,
  ReleaseRequest,
  ReleaseResult,
  RenewRequest,
  RenewResult,
  Unsubscribe,
} from '../../interfaces/lock-driver.interface.js';
import { MAY_BE_AHEAD, refuseTransaction } from '../fencing-rules.js';
import { explained } from './explain-error.js';
import { admissionOf } from './operations.js';
import type { RedisLockClient } from './redis-client.js';
import {
  type RedisLockDriverOptions,
  type RedisLockSettings,
  resolveOptions,
} from './redis-lock.options.js';
import { openSession, type RedisSession } from './redis-session.js';
import { within } from './within.js';

/** The part of the shortest ttl after which a renewal without an answer has failed, lest it keeps those of other nodes waiting. */
const RENEWAL_PATIENCE = 1 / 6;

const GLOB_CHARACTERS = /[*?[\]\\]/g;

/**
 * Locks in Redis or Valkey: one server, with Sentinel, or a cluster. The client is yours; the driver opens a second connection of its own
 * when somebody has to wait.
 */
export class RedisLockDriver implements LockDriver {
  readonly name = 'redis';
  readonly #settings: RedisLockSettings;
  #session: RedisSession | null = null;
  #opening: Promise<RedisSession> | null = null;

  constructor(options: RedisLockClient | RedisLockDriverOptions) {
    this.#settings = resolveOptions(options);
  }

  async connect(): Promise<readonly string[]> {
    return (await this.#connected()).warnings;
  }

  acquire(request: AcquireRequest): Promise<Grant | Denial> {
    return this.#session !== null
      ? this.#session.acquire.ask(request)
      : this.#connected().then((session) => session.acquire.ask(request));
  }

  async renew(leases: readonly RenewRequest[]): Promise<readonly (RenewResult | Error)[]> {
    const { renew } = this.#session ?? (await this.#connected());
    // By then the engine asks again for those that have no answer.
    const shortest = leases.reduce((least, { ttl }) => Math.min(least, ttl), Infinity);
    return renew.askAll(leases, shortest * RENEWAL_PATIENCE);
  }

  release(lease: ReleaseRequest): Promise<ReleaseResult> {
    return this.#session !== null
      ? this.#session.release.ask(lease)
      : this.#connected().then((session) => session.release.ask(lease));
  }

  /** Undefined while there is no hope of notices. */
  get onReleased(): ((key: string, listener: () => void) => Unsubscribe) | undefined {
    const channels = this.#session?.channels;
    return channels?.work ? (key, listener) => channels.listen(key, listener) : undefined;
  }

  inspect(key: string): Promise<LockRecord | null> {
    return this.#answer('inspect', ({ inspect }) => inspect.ask({ key }));
  }

  list(request: ListRequest = {}): Promise<readonly LockRecord[]> {
    return this.#answer('list', (session) => this.#list(session, request));
  }

  forceRelease(key: string): Promise<boolean> {
    return this.#answer('forceRelease', async ({ quick, scripts }) => {
      const name = this.#settings.prefix + key;
      return Number(await quick.run(scripts.forceRelease, [name], [])) === 1;
    });
  }

  async admitToken(request: AdmitRequest, transaction?: unknown): Promise<Admission> {
    refuseTransaction(this.name, transaction);
    const { resource, token, retention } = request;
    return this.#answer('admitToken', async ({ durable, scripts }) => {
      const name = `fence:${this.#settings.prefix}${resource}`;
      const spans = [MAY_BE_AHEAD * 1000, retention * 1000, retention + MAY_BE_AHEAD].map(String);
      return admissionOf(await durable.run(scripts.admit, [name], [String(token), ...spans]));
    });
  }

  /** What is still given back after this goes by the user's client; only `connect()` opens anything again. */
  async close(): Promise<void> {
    await this.#opening?.catch(() => undefined);
    this.#opening = null;
    await this.#session?.close();
  }

  #connected(): Promise<RedisSession> {
    return (this.#opening ??= this.#open().catch((error: unknown) => {
      // Whoever asks next tries again.
      this.#opening = null;
      throw error;
    }));
  }

  async #open(): Promise<RedisSession> {
    const { port, answerTimeout } = this.#settings;
    if (port.complaint !== undefined) {
      throw new LockConfigError(port.complaint);
    }
    const opening = openSession(this.#settings, performance.now() + answerTimeout);
    this.#session = await within(answerTimeout, 'connect', opening, (late) => late.close());
    return this.#session;
  }

  async #answer<T>(what: string, ask: (session: RedisSession) => Promise<T>): Promise<T> {
    const session = this.#session ?? (await this.#connected());
    return within(this.#settings.answerTimeout, what, explained(ask(session)));
  }

  async #list(session: RedisSession, request: ListRequest): Promise<readonly LockRecord[]> {
    const { prefix = '', limit = 100 } = request;
    const { fullPrefix, inspect } = session;
    const pattern = `${(fullPrefix + prefix).replaceAll(GLOB_CHARACTERS, '\\$&')}*`;
    const seen = new Set<string>();
    const found: LockRecord[] = [];
    for await (const page of this.#settings.port.scan(pattern)) {
      // A scan may come across a key more than once.
      const fresh = page
        .map((name) => name.slice(fullPrefix.length))
        .filter((key) => !seen.has(key));
      fresh.forEach((key) => seen.add(key));
      const records = await inspect.askAll([...new Set(fresh)].map((key) => ({ key })));
      for (const record of records) {
        if (record instanceof Error) {
          throw record;
        }
        if (record !== null) {
          found.push(record);
        }
      }
      if (found.length >= limit) {
        break;
      }
    }
    return found.slice(0, limit);
  }
}
