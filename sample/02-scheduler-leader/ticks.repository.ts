import type { RecordedTick, Tick } from './tick.js';

/** Keeps what was run. A slot that is run twice is counted, not refused: it must not be hidden that there were two leaders. */
export abstract class TicksRepository {
  /** Forgets former runs of the sample. */
  abstract prepare(): Promise<void>;
  /** The last slot that was run, by anybody; 0 if there is none. */
  abstract lastSlot(): Promise<number>;
  abstract save(tick: Tick): Promise<void>;
  /** All that was run, by slot. */
  abstract findAll(): Promise<readonly RecordedTick[]>;
  /** Leaves nothing behind. */
  abstract remove(): Promise<void>;
}
