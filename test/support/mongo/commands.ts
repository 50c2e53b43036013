import { EventEmitter, once } from 'node:events';
import { Long } from 'bson';
import { isSame } from './change-log.js';
import { Cursors } from './cursors.js';
import { project, update } from './documents.js';
import { type Collection, Store } from './store.js';
import { Transactions } from './transactions.js';
import { type Document, isNumber, ServerError, toNumber, unknown } from './values.js';

/** What kind of deployment a stand-in plays. */
export interface Role {
  readonly replicaSet: string | undefined;
  readonly maxWireVersion: number;
}

/** Any command may have these; they change nothing here. */
const COMMON = new Set([
  '$db',
  '$clusterTime',
  '$readPreference',
  'startTransaction',
  'autocommit',
  'lsid',
  'txnNumber',
  'maxTimeMS',
  'readConcern',
  'writeConcern',
]);

/** Beside those, and their own name, the arguments that are understood. */
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  ping: [],
  endSessions: [],
  findAndModify: ['query', 'update', 'new', 'upsert', 'remove', 'fields'],
  update: ['updates', 'ordered'],
  insert: ['documents', 'ordered'],
  delete: ['deletes', 'ordered'],
  find: ['filter', 'projection', 'batchSize', 'limit', 'singleBatch'],
  aggregate: ['pipeline', 'cursor'],
  getMore: ['collection', 'batchSize'],
  killCursors: ['cursors'],
  createIndexes: ['indexes'],
  dropDatabase: [],
  commitTransaction: ['recoveryToken'],
  abortTransaction: ['recoveryToken'],
};

/** What is understood as part of a transaction. */
const IN_TRANSACTIONS = new Set(['findAndModify', 'commitTransaction', 'abortTransaction']);

/** Carries out commands against the store; each sees one time from its beginning to its end. */
export class Commands {
  /** So many upserts of a new document run into each other, as with servers that do not try again by themselves. */
  collidingUpserts = 0;
  readonly store = new Store();
  readonly cursors = new Cursors(this.store);
  readonly transactions = new Transactions();
  readonly #role: Role;
  readonly #gathered = new EventEmitter().setMaxListeners(0);
  /** What was answered to writes that may be sent again. */
  readonly #answered = new Map<string, Document>();

  constructor(role: Role) {
    this.#role = role;
  }

  async run(command: Document, now: Date): Promise<Document> {
    const [name = ''] = Object.keys(command);
    this.#check(name, command);
    const id = retryId(command);
    const earlier = id === undefined ? undefined : this.#answered.get(id);
    if (earlier !== undefined) {
      return earlier;
    }
    const collection = this.store.collection(String(command['$db']), String(command[name]));
    const answer = await this.#carryOut(name, collection, command, now);
    if (id !== undefined && answer.again !== undefined) {
      this.#answered.set(id, answer.again);
    }
    return answer.first;
  }

  #check(name: string, command: Document): void {
    const args = Object.hasOwn(ARGUMENTS, name) ? ARGUMENTS[name] : undefined;
    if (args === undefined) {
      throw new ServerError(59, 'CommandNotFound', `no such command: '${name}'`);
    }
    if ('autocommit' in command && !mayBeInTransaction(name, command)) {
      throw new ServerError(
        263,
        'OperationNotSupportedInTransaction',
        'Locks know no transactions, and these no write concern of a command',
      );
    }
    if ('txnNumber' in command && this.#role.replicaSet === undefined) {
      const message = 'Transaction numbers are only allowed on a replica set member or mongos';
      throw new ServerError(20, 'IllegalOperation', message);
    }
    const stray = Object.keys(command).find(
      (field) => field !== name && !COMMON.has(field) && !args.includes(field),
    );
    if (stray !== undefined) {
      throw new ServerError(
        40415,
        'Location40415',
        `BSON field '${name}.${stray}' is an unknown field`,
      );
    }
  }

  async #carryOut(
    name: string,
    collection: Collection,
    command: Document,
    now: Date,
  ): Promise<{ first: Document; again?: Document | undefined }> {
    switch (name) {
      case 'findAndModify':
        return this.#findAndModify(collection, command, now);
      case 'update': {
        const first = this.#update(collection, command, now);
        return { first, again: first };
      }
      case 'insert':
        return { first: this.#insert(collection, command) };
      case 'delete':
        return { first: this.#delete(collection, command) };
      case 'find':
        return { first: this.#find(collection, command, now) };
      case 'aggregate':
        return { first: this.#watch(collection, command) };
      case 'getMore':
        return { first: await this.cursors.more(command['getMore'] as Long, command['maxTimeMS']) };
      case 'killCursors':
        return { first: this.cursors.kill(command['cursors'] as Long[]) };
      case 'createIndexes':
        (command['indexes'] as Document[]).forEach((index) =>
          this.store.createIndex(collection, index),
        );
        return { first: {} };
      case 'commitTransaction':
      case 'abortTransaction':
        this.#endTransaction(name, command);
        return { first: {} };
      case 'dropDatabase':
        this.store.dropDatabase(collection.db);
        return { first: {} };
      default:
        return { first: {} };
    }
  }

  /** A write that is sent again is answered with the document as it was written: `fields` are not applied to it. */
  async #findAndModify(
    collection: Collection,
    command: Document,
    now: Date,
  ): Promise<{ first: Document; again?: Document | undefined }> {
    const { query, update: pipeline, upsert, new: wantsNew, remove, fields } = command;
    if (remove === true || !Array.isArray(pipeline)) {
      throw unknown('findAndModify without a pipeline');
    }
    const transaction = Transactions.of(command);
    const [found] = this.store.find(collection, query as Document);
    const id = (query as Document)['_id'] as string;
    const before = this.transactions.seenBy(transaction, collection, id, found);
    if (before === undefined && upsert !== true) {
      return { first: { value: null, lastErrorObject: { n: 0, updatedExisting: false } } };
    }
    if (before === undefined) {
      await this.#gather();
    }
    const after = update(before ?? { _id: id }, pipeline, now);
    const isWritten = this.#write(collection, before, after, transaction);
    const image = wantsNew === true ? after : (before ?? null);
    const lastErrorObject = { n: 1, updatedExisting: before !== undefined };
    const scope = { document: image ?? {}, now };
    const value = image && project(image, fields as Document | undefined, scope);
    return {
      first: { value, lastErrorObject },
      again: isWritten ? { value: image, lastErrorObject } : undefined,
    };
  }

  /** Upserts that have found nothing wait for each other before they insert. */
  async #gather(): Promise<void> {
    if (this.collidingUpserts > 0) {
      this.collidingUpserts--;
      this.#gathered.emit('upsert');
    }
    while (this.collidingUpserts > 0) {
      await once(this.#gathered, 'upsert');
    }
  }

  #write(
    collection: Collection,
    before: Document | undefined,
    after: Document,
    transaction: string | undefined,
  ): boolean {
    if (before === undefined || !isSame(before, after)) {
      this.transactions.claim(transaction, collection, after['_id'] as string, before);
    }
    if (before !== undefined) {
      return this.store.replace(collection, before, after);
    }
    this.store.insert(collection, after);
    return true;
  }

  #endTransaction(how: string, command: Document): void {
    const transaction = Transactions.of(command) ?? '';
    if (how === 'commitTransaction') {
      this.transactions.commit(transaction);
    } else {
      this.transactions.abort(transaction);
    }
  }

  #update(collection: Collection, command: Document, now: Date): Document {
    let matched = 0;
    let modified = 0;
    for (const { q, u, ...others } of command['updates'] as Document[]) {
      if (!Array.isArray(u) || Object.values(others).some((value) => value !== false)) {
        throw unknown('updates of many, upserts, and updates without a pipeline');
      }
      const [before] = this.store.find(collection, q as Document);
      if (before !== undefined) {
        matched++;
        modified += Number(this.store.replace(collection, before, update(before, u, now)));
      }
    }
    return { n: matched, nModified: modified };
  }

  #insert(collection: Collection, command: Document): Document {
    const documents = command['documents'] as Document[];
    documents.forEach((document) => this.store.insert(collection, document));
    return { n: documents.length };
  }

  #delete(collection: Collection, command: Document): Document {
    const found = (command['deletes'] as Document[]).flatMap(({ q }) =>
      this.store.find(collection, q as Document),
    );
    found.forEach((document) => this.store.delete(collection, document));
    return { n: found.length };
  }

  #find(collection: Collection, command: Document, now: Date): Document {
    const { filter = {}, projection, batchSize, limit } = command;
    const found = this.store.find(collection, filter as Document);
    const wanted = isNumber(limit) ? found.slice(0, toNumber(limit)) : found;
    const projected = wanted.map((document) =>
      project(document, projection as Document | undefined, { document, now }),
    );
    return this.cursors.list(collection, projected, batchSize);
  }

  #watch(collection: Collection, command: Document): Document {
    const pipeline = command['pipeline'] as Document[];
    if (pipeline[0]?.['$changeStream'] === undefined) {
      throw unknown('aggregations that are no change streams');
    }
    if (this.#role.replicaSet === undefined) {
      const message = 'The $changeStream stage is only supported on replica sets';
      throw new ServerError(40573, 'Location40573', message);
    }
    return this.cursors.watch(collection, pipeline);
  }
}

const mayBeInTransaction = (name: string, command: Document): boolean =>
  IN_TRANSACTIONS.has(name) && (name !== 'findAndModify' || !('writeConcern' in command));

/** Names a write that the client would send again with the same numbers; all of a transaction have the same. */
function retryId({ lsid, txnNumber, autocommit }: Document): string | undefined {
  return txnNumber === undefined || autocommit === false
    ? undefined
    : JSON.stringify([lsid, txnNumber]);
}
