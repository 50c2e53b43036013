import type { Lanes } from './lanes.js';
import type { Row } from './pg-port.js';
import { CLOCK } from './sql.js';

/** So many rows one slice looks at. */
const SLICE = 1000;

/** The table stays bounded where slices look at more rows than are added meanwhile. */
const ADDED_PER_SLICE = SLICE / 2;

/** The pause before the next slice while there is something to clean up. */
const BUSY_PAUSE = 1000;

/** What is cleaned up, and when. */
export interface Purged {
  /** Names the statement. */
  readonly name: string;
  readonly table: string;
  /** The column by which the slices are cut. */
  readonly key: string;
  /** The time from which a row of no more use is kept for, an expression on the row `l`. */
  readonly since: string;
  /** For how long it is kept from then on, in milliseconds. */
  readonly keep: number;
  /** The pause between two slices while there is nothing to clean up. */
  readonly pause: number;
}

/** Rows that are locked are in use, and rows that changed meanwhile are looked at again before they go. */
const purge = ({ table, key, since }: Purged): string => `WITH slice AS MATERIALIZED (
SELECT ${key} AS key FROM ${table} WHERE ${key} > $1 ORDER BY ${key} LIMIT ${SLICE}
), old AS MATERIALIZED (
SELECT slice.key FROM ${table} l JOIN slice ON slice.key = l.${key}
WHERE ${since} < ${CLOCK} - $2::bigint
FOR UPDATE OF l SKIP LOCKED
), gone AS (
DELETE FROM ${table} l USING old WHERE l.${key} = old.key RETURNING 1)
SELECT (SELECT count(*) FROM gone)::text, (SELECT max(key) FROM slice), (SELECT count(*) FROM slice)::text`;

/**
 * Deletes rows that have been of no use for long, slice by slice in the order of the keys: a little now and then,
 * and more where many new ones come.
 */
export class Purger {
  readonly #lanes: Lanes;
  readonly #text: string;
  readonly #purged: Purged;
  #after = '';
  #added = 0;
  #timer: NodeJS.Timeout | undefined;
  #running = false;
  #open = false;

  constructor(lanes: Lanes, purged: Purged) {
    this.#lanes = lanes;
    this.#text = purge(purged);
    this.#purged = purged;
  }

  open(): void {
    if (!this.#open) {
      this.#open = true;
      this.#wait(this.#purged.pause);
    }
  }

  close(): void {
    this.#open = false;
    clearTimeout(this.#timer);
  }

  /** A row was added. */
  added(): void {
    if (++this.#added >= ADDED_PER_SLICE && this.#open && !this.#running) {
      clearTimeout(this.#timer);
      void this.#slice();
    }
  }

  /** Looks at one slice; gives how many rows went. */
  async purgeSlice(): Promise<number> {
    const { name, keep } = this.#purged;
    const values = [this.#after, keep * 1000];
    const [row] = await this.#lanes.run({ name, text: this.#text, values });
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
      this.#wait(gone > 0 ? BUSY_PAUSE : this.#purged.pause);
    }
  }

  /** Spread, so that replicas which were started together do not clean up together. */
  #wait(ms: number): void {
    this.#timer = setTimeout(() => void this.#slice(), ms * (0.5 + Math.random()));
    this.#timer.unref();
  }
}
