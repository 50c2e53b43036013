import type { RecordedTick, Tick } from './tick.js';

/** Asks the fencing gate, in the transaction that writes if there is one; rejects if the writer is late. */
export type Admit = (transaction?: unknown) => Promise<void>;

/** Keeps what was run. A slot that is run twice is counted, not refused: it must not be hidden that there were two leaders. */
export abstract class TicksRepository {
  /** Forgets former runs of the sample. */
  abstract prepare(): Promise<void>;
  /** The last slot that was run, by anybody; 0 if there is none. */
  abstract lastSlot(): Promise<number>;
  /** Saves it if it is admitted. */
  abstract save(tick: Tick, admit: Admit): Promise<void>;
  /** All that was run, by slot. */
  abstract findAll(): Promise<readonly RecordedTick[]>;
  /** Leaves nothing behind. */
  abstract remove(): Promise<void>;
}
