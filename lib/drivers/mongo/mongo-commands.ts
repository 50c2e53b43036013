import { LockDriverError } from '../../errors/lock-driver.error.js';
import type {
  AcquireRequest,
  ReleaseRequest,
  RenewRequest,
} from '../../interfaces/lock-driver.interface.js';
import type { MongoRecord } from './mongo-answers.js';
import type { MongoSettings } from './mongo-options.js';
import type {
  MongoChangeStream,
  MongoCollection,
  MongoDatabase,
  MongoDocument,
} from './mongo-port.js';
import { withPrefix } from './mongo-prefix.js';
import {
  acquirePipeline,
  freePipeline,
  ownedBy,
  RELEASES,
  renewPipeline,
  WITH_REMAINING,
  WITH_WANTED,
} from './mongo-statements.js';

/** Whatever the user's client makes of numbers elsewhere: here 64-bit integers are read as the safe integers they are. */
const PLAIN = { raw: false, promoteValues: true, promoteLongs: true, useBigInt64: false } as const;

interface ChangeOptions {
  readonly projection: MongoDocument;
  readonly returnDocument: 'before' | 'after';
  readonly upsert?: boolean;
}

/**
 * The commands that the driver sends. Writes are confirmed by a majority, or else their outcome is unknown; reads
 * are the primary's. No command is part of a transaction, and each does no harm when it arrives twice.
 */
export class MongoCommands {
  readonly #db: MongoDatabase;
  readonly #collection: MongoCollection;
  readonly #retention: number;
  readonly #reading: object;
  readonly #writing: object;

  constructor({ db, collection, retention, timeout }: MongoSettings) {
    this.#db = db;
    this.#collection = db.collection(collection);
    this.#retention = retention;
    const common = { ...PLAIN, maxTimeMS: timeout };
    this.#reading = { ...common, readPreference: 'primary', readConcern: { level: 'local' } };
    this.#writing = { ...common, writeConcern: { w: 'majority', wtimeoutMS: timeout } };
  }

  hello(): Promise<unknown> {
    return this.#db.command({ hello: 1 }, { ...PLAIN, readPreference: 'primary' });
  }

  createIndex(): Promise<unknown> {
    return this.#collection.createIndex({ purgeAt: 1 }, { expireAfterSeconds: 0 });
  }

  /** The record afterwards, whose owner tells who has the lock. */
  async acquire(request: AcquireRequest): Promise<MongoRecord> {
    const pipeline = acquirePipeline(request, this.#retention);
    const record = await this.#change({ _id: request.key }, pipeline, {
      projection: WITH_REMAINING,
      returnDocument: 'after',
      upsert: true,
    });
    if (record === null) {
      throw new LockDriverError('MongoDB answered an upsert without a document');
    }
    return record;
  }

  /** The record afterwards, or null when the lock was not the owner's. */
  release({ key, owner, retainFor = 0 }: ReleaseRequest): Promise<MongoRecord | null> {
    return this.#change(ownedBy({ key, owner }), freePipeline(retainFor, this.#retention), {
      projection: WITH_WANTED,
      returnDocument: 'after',
    });
  }

  /** The record before, or null when there is none. */
  forceRelease(key: string): Promise<MongoRecord | null> {
    return this.#change({ _id: key }, freePipeline(0, this.#retention), {
      projection: WITH_REMAINING,
      returnDocument: 'before',
    });
  }

  /** Renews one lease that wants tokens: a batch returns no documents, and a read behind it might see later ones. */
  renewWithTokens(lease: RenewRequest): Promise<MongoRecord | null> {
    return this.#change(ownedBy(lease), renewPipeline(lease, this.#retention), {
      projection: WITH_REMAINING,
      returnDocument: 'after',
    });
  }

  /** Renews a batch; gives those that were their owner's. */
  async renew(leases: readonly RenewRequest[]): Promise<ReadonlySet<RenewRequest>> {
    const operations = leases.map((lease) => ({
      updateOne: { filter: ownedBy(lease), update: renewPipeline(lease, this.#retention) },
    }));
    const options = { ...this.#writing, ordered: false };
    const { matchedCount } = await this.#collection.bulkWrite(operations, options);
    if (matchedCount === leases.length) {
      return new Set(leases);
    }
    const owned = await this.#owned(leases);
    if (owned.size > matchedCount) {
      // One of them came to be its owner's only after the batch: nobody knows which was renewed.
      throw new LockDriverError('MongoDB renewed fewer leases than it says are held');
    }
    return owned;
  }

  /** The record of a key, if there is one. */
  find(key: string): AsyncIterable<MongoRecord> {
    return this.#find({ _id: key }, 1);
  }

  /** Those that were not released, in no particular order; some of them may have expired. */
  findAll(prefix: string, limit: number): AsyncIterable<MongoRecord> {
    return this.#find(withPrefix(prefix), limit);
  }

  watchReleases(): MongoChangeStream {
    return this.#collection.watch(RELEASES, { ...PLAIN, readPreference: 'primary' });
  }

  /** One find, and one answer to it. */
  async #owned(leases: readonly RenewRequest[]): Promise<ReadonlySet<RenewRequest>> {
    const owners = new Map<string, string | null>();
    const keys = leases.map(({ key }) => key);
    for await (const { _id, owner } of this.#find({ _id: { $in: keys } }, keys.length)) {
      owners.set(_id, owner);
    }
    return new Set(leases.filter(({ key, owner }) => owners.get(key) === owner));
  }

  /** A batch that is larger than what is expected is the last one, so there is no second command. */
  #find(filter: MongoDocument, expected: number): AsyncIterable<MongoRecord> {
    const options = { ...this.#reading, projection: WITH_REMAINING, batchSize: expected + 1 };
    return this.#collection.find(filter, options) as AsyncIterable<MongoRecord>;
  }

  #change(
    filter: MongoDocument,
    pipeline: MongoDocument[],
    options: ChangeOptions,
  ): Promise<MongoRecord | null> {
    const change = this.#collection.findOneAndUpdate(filter, pipeline, {
      ...this.#writing,
      ...options,
      includeResultMetadata: false,
    });
    return change as Promise<MongoRecord | null>;
  }
}
