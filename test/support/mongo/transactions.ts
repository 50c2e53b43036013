import type { Collection } from './store.js';
import { type Document, ServerError } from './values.js';

/** A document as it was before an open transaction wrote it. */
interface Written {
  readonly collection: Collection;
  readonly id: string;
  readonly before: Document | undefined;
}

/** Transactions that are open: a document that one has written is closed to all others until it ends. */
export class Transactions {
  readonly #open = new Map<string, Written[]>();

  /** The name of the transaction that a command is part of, if it is. */
  static of({ lsid, txnNumber, autocommit }: Document): string | undefined {
    return autocommit === false ? JSON.stringify([lsid, txnNumber]) : undefined;
  }

  /** The document as a command sees it: not what others have written and not committed. */
  seenBy(
    name: string | undefined,
    collection: Collection,
    id: string,
    now: Document | undefined,
  ): Document | undefined {
    for (const [other, written] of this.#open) {
      const first = written.find((it) => it.collection === collection && it.id === id);
      if (other !== name && first !== undefined) {
        return first.before;
      }
    }
    return now;
  }

  /** To be called before a document is written. */
  claim(
    name: string | undefined,
    collection: Collection,
    id: string,
    before: Document | undefined,
  ): void {
    for (const [other, written] of this.#open) {
      if (other !== name && written.some((it) => it.collection === collection && it.id === id)) {
        throw new ServerError(112, 'WriteConflict', 'Write conflict during plan execution', {
          errorLabels: name === undefined ? [] : ['TransientTransactionError'],
        });
      }
    }
    if (name !== undefined) {
      const written = this.#open.get(name) ?? [];
      this.#open.set(name, [...written, { collection, id, before }]);
    }
  }

  commit(name: string): void {
    this.#open.delete(name);
  }

  abort(name: string): void {
    const written = this.#open.get(name) ?? [];
    this.#open.delete(name);
    for (const { collection, id, before } of written.toReversed()) {
      if (before === undefined) {
        collection.documents.delete(id);
      } else {
        collection.documents.set(id, before);
      }
    }
  }
}
