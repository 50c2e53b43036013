import { LockDriverError } from '../../errors/lock-driver.error.js';
import { LockError } from '../../errors/lock.error.js';
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
import {
  denialOf,
  describe,
  grantOf,
  type MongoRecord,
  releaseOf,
  wasTaken,
} from './mongo-answers.js';
import { MongoCommands } from './mongo-commands.js';
import { isLostUpsert, mongoError } from './mongo-errors.js';
import { MongoGate } from './mongo-gate.js';
import {
  gateOf,
  MIN_RETENTION,
  type MongoLockDriverOptions,
  type MongoSettings,
  resolveMongoOptions,
} from './mongo-options.js';
import type { MongoDatabase } from './mongo-port.js';
import { MongoReleaseStream } from './mongo-release-stream.js';
import {
  checkVersion,
  hasChangeStreams,
  hasConnectionToSpare,
  makeIndexOnce,
} from './mongo-set-up.js';

const RENEWED: RenewResult = Object.freeze({ renewed: true });
const NOT_RENEWED: RenewResult = Object.freeze({ renewed: false });

/**
 * A command's time is that of its beginning, and it may have waited since. Had it begun before a record was purged, its
 * token could be smaller than those of the record: so a grant that took half as long as records are kept is unknown.
 */
const SLOWEST_GRANT = MIN_RETENTION / 2;

/** Locks in a collection of MongoDB: one document each, by the server's clock, confirmed by a majority. */
export class MongoLockDriver implements LockDriver {
  readonly name = 'mongo';
  readonly #settings: MongoSettings;
  readonly #commands: MongoCommands;
  readonly #releases: MongoReleaseStream;
  readonly #gate: MongoGate;
  #closed = false;

  constructor(options: MongoDatabase | MongoLockDriverOptions) {
    this.#settings = resolveMongoOptions(options);
    this.#commands = new MongoCommands(this.#settings);
    this.#gate = new MongoGate(this.#settings);
    this.#releases = new MongoReleaseStream(() => this.#commands.watchReleases());
  }

  /** Checks that the server will do and that locks can be written there, and sees to the index behind. */
  async connect(): Promise<void> {
    const { changeStream, createIndex, db } = this.#settings;
    this.#closed = false;
    const hello = await ask('answer', [], this.#commands.hello());
    checkVersion(hello);
    // Nobody's lease: what may not be written, or not be confirmed by a majority, is told at boot.
    await this.renew([{ key: '', owner: '', ttl: 1 }]);
    if (changeStream && hasChangeStreams(hello) && hasConnectionToSpare(db)) {
      this.#releases.open();
    }
    if (createIndex) {
      this.#makeIndexes();
    }
  }

  async acquire(request: AcquireRequest): Promise<Grant | Denial> {
    const { key, owner } = request;
    const sentAt = performance.now();
    const record = await this.#commands.acquire(request).catch((error: unknown) => {
      if (isLostUpsert(error)) {
        return null;
      }
      throw mongoError('acquire', error, [key]);
    });
    if (record?.owner !== owner) {
      return record === null ? {} : denialOf(record);
    }
    if (performance.now() - sentAt > SLOWEST_GRANT) {
      throw new LockDriverError('MongoDB took too long to grant a lock', { keys: [key] });
    }
    return grantOf(record);
  }

  async renew(leases: readonly RenewRequest[]): Promise<readonly RenewResult[]> {
    const plain = leases.filter(({ bumpToken }) => !bumpToken);
    const [renewed, blocks] = await Promise.all([
      this.#renewAll(plain),
      Promise.all(leases.map(async (lease) => (lease.bumpToken ? this.#renewOne(lease) : null))),
    ]);
    return leases.map((lease, i) => blocks[i] ?? (renewed.has(lease) ? RENEWED : NOT_RENEWED));
  }

  async release(lease: ReleaseRequest): Promise<ReleaseResult> {
    return releaseOf(await ask('release', [lease.key], this.#commands.release(lease)));
  }

  /** Only while the deployment has change streams and ours is not broken; else it is as if there were none. */
  get onReleased(): ((key: string, listener: () => void) => Unsubscribe) | undefined {
    return this.#releases.works ? this.#onReleased : undefined;
  }

  async inspect(key: string): Promise<LockRecord | null> {
    const [record = null] = await ask('inspect', [key], take(this.#commands.find(key), 1));
    return record;
  }

  list(request: ListRequest = {}): Promise<readonly LockRecord[]> {
    const { prefix = '', limit = 100 } = request;
    return ask('list', [], take(this.#commands.findAll(prefix, limit), limit));
  }

  async forceRelease(key: string): Promise<boolean> {
    const before = await ask('forceRelease', [key], this.#commands.forceRelease(key));
    return before !== null && wasTaken(before);
  }

  /** Admits a token by itself, or in the transaction of a `ClientSession`; what fails in it is then thrown as it is. */
  admitToken(request: AdmitRequest, transaction?: unknown): Promise<Admission> {
    return this.#gate.admit(request, transaction);
  }

  /** Ends the change stream; the client is the user's. */
  close(): Promise<void> {
    this.#closed = true;
    return this.#releases.close();
  }

  readonly #onReleased = (key: string, listener: () => void): Unsubscribe =>
    this.#releases.subscribe(key, listener);

  #makeIndexes(): void {
    const { collection } = this.#settings;
    const makers = {
      [collection]: () => this.#commands.createIndex(),
      [gateOf(collection)]: () => this.#gate.createIndex(),
    };
    for (const [name, make] of Object.entries(makers)) {
      void makeIndexOnce(this.#settings, name, make, () => !this.#closed);
    }
  }

  async #renewAll(leases: readonly RenewRequest[]): Promise<ReadonlySet<RenewRequest>> {
    if (leases.length === 0) {
      return new Set();
    }
    return ask(
      'renew',
      leases.map(({ key }) => key),
      this.#commands.renew(leases),
    );
  }

  async #renewOne(lease: RenewRequest): Promise<RenewResult> {
    const record = await ask('renew', [lease.key], this.#commands.renewWithTokens(lease));
    return record === null ? NOT_RENEWED : { renewed: true, ...grantOf(record) };
  }
}

/** The first of the locks that are held. */
async function take(records: AsyncIterable<MongoRecord>, limit: number): Promise<LockRecord[]> {
  const found: LockRecord[] = [];
  for await (const record of records) {
    const lock = describe(record);
    if (lock !== null && found.push(lock) >= limit) {
      break;
    }
  }
  return found;
}

/** Whatever fails is told as a typed error that says where to look. */
async function ask<T>(doing: string, keys: readonly string[], answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw error instanceof LockError ? error : mongoError(doing, error, keys);
  }
}
