/** How long a slot is, in milliseconds; what is scheduled runs once in each. */
export const SLOT = 500;

/** What was run in a slot of time, by whom, and with which fencing token. */
export interface Tick {
  /** Counts the slots since 1970: the same in all replicas, as far as their clocks agree. */
  readonly slot: number;
  readonly node: string;
  readonly fencingToken: bigint;
}

/** A slot that was run, and how often. */
export interface RecordedTick extends Tick {
  readonly runs: number;
}
