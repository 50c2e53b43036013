import { Long } from 'bson';
import { seqOf, tokenOf } from './change-log.js';
import { matches, project } from './documents.js';
import type { Collection, Store } from './store.js';
import { type Document, isNumber, ServerError, toNumber, unknown } from './values.js';

/** How long a change stream waits for news unless the client says otherwise. */
const AWAIT_MS = 1000;

const NO_CURSOR = Long.ZERO;

type Cursor =
  | { readonly kind: 'list'; readonly collection: Collection; readonly rest: Document[] }
  | {
      readonly kind: 'changes';
      readonly collection: Collection;
      readonly stages: readonly Document[];
      seen: number;
    };

/** The cursors of a stand-in: lists that did not fit into one answer, and change streams. */
export class Cursors {
  readonly #store: Store;
  readonly #open = new Map<string, Cursor>();
  #count = 0;
  #invalidated = false;

  constructor(store: Store) {
    this.#store = store;
  }

  get size(): number {
    return this.#open.size;
  }

  /** The first answer to a find. */
  list(collection: Collection, documents: readonly Document[], batchSize: unknown): Document {
    const size = isNumber(batchSize) ? toNumber(batchSize) : 101;
    const rest = documents.slice(size);
    const id = documents.length < size ? NO_CURSOR : this.#add({ kind: 'list', collection, rest });
    return answer(id, collection, 'firstBatch', documents.slice(0, size));
  }

  /** The first answer to a change stream. */
  watch(collection: Collection, [first, ...stages]: readonly Document[]): Document {
    const options = first?.['$changeStream'] as Document;
    const seen = startOf(options, this.#store.changes.last);
    this.#invalidated = false;
    const id = this.#add({ kind: 'changes', collection, stages, seen });
    return answer(id, collection, 'firstBatch', [], seen);
  }

  async more(id: Long, maxTimeMS: unknown): Promise<Document> {
    const cursor = this.#open.get(id.toString());
    if (cursor === undefined) {
      throw notFound(id);
    }
    if (cursor.kind === 'list') {
      this.#open.delete(id.toString());
      return answer(NO_CURSOR, cursor.collection, 'nextBatch', cursor.rest);
    }
    const patience = isNumber(maxTimeMS) ? toNumber(maxTimeMS) : AWAIT_MS;
    const batch = await this.#changes(cursor, performance.now() + patience, id);
    if (this.#invalidated) {
      this.#open.delete(id.toString());
    }
    const left = this.#invalidated ? NO_CURSOR : id;
    return answer(left, cursor.collection, 'nextBatch', batch, cursor.seen);
  }

  kill(ids: readonly Long[]): Document {
    ids.forEach((id) => this.#open.delete(id.toString()));
    this.#store.changes.wake();
    return { cursorsKilled: ids, cursorsNotFound: [], cursorsAlive: [], cursorsUnknown: [] };
  }

  /** Ends all change streams in order, as dropping their collection does. */
  invalidate(): void {
    this.#invalidated = true;
    this.#store.changes.wake();
  }

  /** Ends all, as a fail-over does. */
  killAll(): void {
    this.#open.clear();
    this.#store.changes.wake();
  }

  async #changes(
    cursor: Cursor & { kind: 'changes' },
    until: number,
    id: Long,
  ): Promise<readonly Document[]> {
    for (;;) {
      const entries = this.#store.changes.after(cursor.seen);
      cursor.seen = this.#store.changes.last;
      const batch = entries
        .map(({ event }) => event)
        .filter((event) => isOf(cursor.collection, event))
        .flatMap((event) => through(cursor.stages, event));
      const left = until - performance.now();
      if (batch.length > 0 || left <= 0 || this.#invalidated) {
        return batch;
      }
      await this.#store.changes.wait(left);
      if (!this.#open.has(id.toString())) {
        throw notFound(id);
      }
    }
  }

  #add(cursor: Cursor): Long {
    const id = Long.fromNumber(++this.#count);
    this.#open.set(id.toString(), cursor);
    return id;
  }
}

function isOf({ db, name }: Collection, { ns }: Document): boolean {
  const { db: ofDb, coll } = ns as Document;
  return db === ofDb && name === coll;
}

function through(stages: readonly Document[], event: Document): Document[] {
  let current = event;
  for (const stage of stages) {
    const [[name, argument] = ['', undefined]] = Object.entries(stage);
    if (name === '$match') {
      if (!matches(argument as Document, current)) {
        return [];
      }
    } else if (name === '$project') {
      current = project(current, argument as Document, { document: current, now: new Date() });
    } else {
      throw unknown(`the stage ${name} in a change stream`);
    }
  }
  return [current];
}

function startOf(options: Document, last: number): number {
  const { resumeAfter, ...others } = options;
  const [other] = Object.keys(others);
  if (other !== undefined) {
    throw unknown(`the option ${other} of a change stream`);
  }
  return resumeAfter === undefined ? last : seqOf(resumeAfter as Document);
}

function answer(
  id: Long,
  { db, name }: Collection,
  batch: 'firstBatch' | 'nextBatch',
  documents: readonly Document[],
  seen?: number,
): Document {
  const token = seen === undefined ? {} : { postBatchResumeToken: tokenOf(seen) };
  return { cursor: { id, ns: `${db}.${name}`, [batch]: documents, ...token } };
}

function notFound(id: Long): ServerError {
  return new ServerError(43, 'CursorNotFound', `cursor id ${id.toString()} not found`);
}
