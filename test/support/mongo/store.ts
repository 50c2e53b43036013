import { type ChangeForm, changeEvent, ChangeLog, isSame } from './change-log.js';
import { matches } from './documents.js';
import { type Document, isNumber, ServerError, toNumber } from './values.js';

/** A collection: its documents by `_id`, in the order of insertion, and its TTL indexes. */
export interface Collection {
  readonly db: string;
  readonly name: string;
  readonly documents: Map<string, Document>;
  /** Seconds to live after the time in a field. */
  readonly ttlIndexes: Map<string, number>;
}

/** The collections of a stand-in. */
export class Store {
  /** How updates are told of in change streams. */
  changeForm: ChangeForm = 'update';
  readonly changes = new ChangeLog();
  readonly #collections = new Map<string, Collection>();

  collection(db: string, name: string): Collection {
    const namespace = `${db}.${name}`;
    let collection = this.#collections.get(namespace);
    if (collection === undefined) {
      collection = { db, name, documents: new Map(), ttlIndexes: new Map() };
      this.#collections.set(namespace, collection);
    }
    return collection;
  }

  dropDatabase(name: string): void {
    for (const [namespace, { db }] of this.#collections) {
      if (db === name) {
        this.#collections.delete(namespace);
      }
    }
  }

  find(collection: Collection, filter: Document): Document[] {
    const { _id: id } = filter;
    const candidates =
      typeof id === 'string'
        ? [collection.documents.get(id)].filter((found) => found !== undefined)
        : [...collection.documents.values()];
    return candidates.filter((document) => matches(filter, document));
  }

  insert(collection: Collection, document: Document): void {
    const id = document['_id'] as string;
    if (collection.documents.has(id)) {
      throw duplicateKey(collection, id);
    }
    collection.documents.set(id, document);
    this.changes.add(collection.db, collection.name, {
      operationType: 'insert',
      documentKey: { _id: id },
      fullDocument: document,
    });
  }

  /** False where nothing changes: then nothing is written, and nobody is told. */
  replace(collection: Collection, before: Document, after: Document): boolean {
    if (isSame(before, after)) {
      return false;
    }
    collection.documents.set(after['_id'] as string, after);
    this.changes.add(collection.db, collection.name, changeEvent(this.changeForm, before, after));
    return true;
  }

  delete(collection: Collection, document: Document): void {
    const id = document['_id'] as string;
    collection.documents.delete(id);
    this.changes.add(collection.db, collection.name, {
      operationType: 'delete',
      documentKey: { _id: id },
    });
  }

  /** What the server's TTL monitor does about once a minute. */
  purge(now: Date): void {
    for (const collection of this.#collections.values()) {
      for (const [field, seconds] of collection.ttlIndexes) {
        const isOver = (value: unknown): boolean =>
          value instanceof Date && value.getTime() + seconds * 1000 <= now.getTime();
        [...collection.documents.values()]
          .filter((document) => isOver(document[field]))
          .forEach((document) => this.delete(collection, document));
      }
    }
  }

  createIndex(collection: Collection, { key, expireAfterSeconds }: Document): void {
    const [field = ''] = Object.keys(key as Document);
    if (!isNumber(expireAfterSeconds)) {
      throw new ServerError(238, 'NotImplemented', 'The stand-in makes TTL indexes only');
    }
    collection.ttlIndexes.set(field, toNumber(expireAfterSeconds));
  }
}

function duplicateKey({ db, name }: Collection, id: string): ServerError {
  return new ServerError(
    11000,
    'DuplicateKey',
    `E11000 duplicate key error collection: ${db}.${name} index: _id_ dup key: { _id: "${id}" }`,
    { keyPattern: { _id: 1 }, keyValue: { _id: id } },
  );
}
