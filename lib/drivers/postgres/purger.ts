import type { Lanes } from './lanes.js';
import type { Row } from './pg-port.js';
import { CLOCK } from './sql.js';

/** So many rows one slice looks at. */
const SLICE = 1000;

/** The table stays bounded where slices look at more rows than are added meanwhile. */
const ADDED_PER_SLICE = SLICE / 2;

/** The pause before the next slice while there is something to clean up. */
const BUSY_PAUSE = 1000;

/** Rows that are locked are in use, and rows that changed meanwhile are looked at again before they go. */
const purge = (table: string): string => `WITH slice AS MATERIALIZED (
SELECT key FROM ${table} WHERE key > $1 ORDER BY key LIMIT ${SLICE}
), old AS MATERIALIZED (
SELECT l.key FROM ${table} l JOIN slice ON slice.key = l.key
WHERE greatest(abs(l.expires), l.last) < ${CLOCK} - $2::bigint
FOR UPDATE OF l SKIP LOCKED
), gone AS (
DELETE FROM ${table} l USING old WHERE l.key = old.key RETURNING 1)
SELECT (SELECT count(*) FROM gone)::text, (SELECT max(key) FROM slice), (SELECT count(*) FROM slice)::text`;

/**
 * Forgets locks that have been free for the retention, slice by slice in the order of the keys: a little now and then,
 * and more where many new locks come.
 */
export class Purger {
  readonly #lanes: Lanes;
  readonly #text: string;
  readonly #retention: number;
  #after = '';
  #added = 0;
  #timer: NodeJS.Timeout | undefined;
  #running = false;
  #open = false;

  constructor(lanes: Lanes, table: string, retention: number) {
    this.#lanes = lanes;
    this.#text = purge(table);
    this.#retention = retention;
  }

  open(): void {
    if (!this.#open) {
      this.#open = true;
      this.#wait(this.#retention);
    }
  }

  close(): void {
    this.#open = false;
    clearTimeout(this.#timer);
  }

  /** A lock was taken that had no row. */
  added(): void {
    if (++this.#added >= ADDED_PER_SLICE && this.#open && !this.#running) {
      clearTimeout(this.#timer);
      void this.#slice();
    }
  }

  /** Looks at one slice; gives how many rows went. */
  async purgeSlice(): Promise<number> {
    const values = [this.#after, this.#retention * 1000];
    const [row] = await this.#lanes.run({ name: 'lock-purge', text: this.#text, values });
    const [gone, last, looked] = row as Row;
    this.#after = Number(looked) < SLICE ? '' : (last ?? '');
    return Number(gone);
  }

  async #slice(): Promise<void> {
    this.#running = true;
    this.#added = 0;
    const gone = await this.purgeSlice().catch(() => 0);
    this.#running = false;
    if (this.#open) {
      this.#wait(gone > 0 ? BUSY_PAUSE : this.#retention);
    }
  }

  /** Spread, so that replicas which were started together do not clean up together. */
  #wait(ms: number): void {
    this.#timer = setTimeout(() => void this.#slice(), ms * (0.5 + Math.random()));
    this.#timer.unref();
  }
}
