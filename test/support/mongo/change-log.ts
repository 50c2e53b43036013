import { EventEmitter } from 'node:events';
import { serialize, Timestamp } from 'bson';
import type { Document } from './values.js';

interface Entry {
  readonly seq: number;
  readonly event: Document;
}

/** What happened to the documents of one server, in the form of change events. */
export class ChangeLog {
  readonly #entries: Entry[] = [];
  readonly #news = new EventEmitter().setMaxListeners(0);

  /** The number of the last entry. */
  get last(): number {
    return this.#entries.length;
  }

  add(db: string, collection: string, event: Document): void {
    const seq = this.#entries.length + 1;
    this.#entries.push({
      seq,
      event: {
        _id: tokenOf(seq),
        clusterTime: new Timestamp({ t: seq, i: 1 }),
        ns: { db, coll: collection },
        ...event,
      },
    });
    this.wake();
  }

  after(seq: number): readonly Entry[] {
    return this.#entries.slice(seq);
  }

  /** Lets all who wait look again. */
  wake(): void {
    this.#news.emit('entry');
  }

  /** Resolves when there is news, or when the time is over. */
  async wait(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.#news.off('entry', end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      this.#news.once('entry', end);
    });
  }
}

/** A resume token that says after which entry. */
export const tokenOf = (seq: number): Document => ({ _data: seq.toString(16).padStart(16, '0') });

export const seqOf = (token: Document): number => Number.parseInt(String(token['_data']), 16);

/** How a server tells of an update: as what has changed, or as the whole document. */
export type ChangeForm = 'update' | 'replace';

export function changeEvent(form: ChangeForm, before: Document, after: Document): Document {
  const documentKey = { _id: after['_id'] };
  if (form === 'replace') {
    return { operationType: 'replace', documentKey, fullDocument: after };
  }
  const updatedFields = Object.fromEntries(
    Object.entries(after).filter(([name, value]) => !isSame(before[name], value)),
  );
  const removedFields = Object.keys(before).filter((name) => !Object.hasOwn(after, name));
  return {
    operationType: 'update',
    documentKey,
    updateDescription: { updatedFields, removedFields },
  };
}

/** To the last byte, types of numbers and order of fields included. */
export function isSame(a: unknown, b: unknown): boolean {
  return Buffer.compare(serialize({ value: a }), serialize({ value: b })) === 0;
}
