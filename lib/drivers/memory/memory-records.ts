import { MemoryRecord } from './memory-record.js';

/** How long a lock is remembered beyond its last token and its expiry, in microseconds: so far the clock may be set back. */
const RETENTION = 1_000_000;

/** More than one, or the sweep would never catch up with what is added. */
const SWEPT_PER_ADDITION = 2;

/** The records of a memory driver: whoever adds one looks at two others and drops what was free for long, so there is neither a timer nor a pause. */
export class MemoryRecords {
  readonly #records = new Map<string, MemoryRecord>();
  /** Stays valid while records come and go, and goes round and round. */
  #sweep = this.#records.values();

  get size(): number {
    return this.#records.size;
  }

  get(key: string): MemoryRecord | undefined {
    return this.#records.get(key);
  }

  add(key: string, now: number): MemoryRecord {
    this.#dropSome(now);
    const record = new MemoryRecord(key, now);
    this.#records.set(key, record);
    return record;
  }

  values(): Iterable<MemoryRecord> {
    return this.#records.values();
  }

  #dropSome(now: number): void {
    for (let looked = 0; looked < SWEPT_PER_ADDITION; looked++) {
      const { done, value: record } = this.#sweep.next();
      if (done) {
        this.#sweep = this.#records.values();
      } else if (record.forgettableFrom(RETENTION) <= now) {
        this.#records.delete(record.key);
      }
    }
  }
}
