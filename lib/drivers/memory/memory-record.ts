import type { Grant } from '../../interfaces/lock-driver.interface.js';

/** What the memory driver knows of one lock; all times are microseconds of the driver's clock. */
export class MemoryRecord {
  /** Null while the lock is free, and while it is only kept taken by `retainFor`. */
  owner: string | null = null;
  /** The lock is taken until then; 0 once it was released, so that a clock set back cannot make it taken again. */
  expires = 0;
  wantedUntil = 0;
  /** The largest token ever granted. */
  last: number;

  constructor(
    readonly key: string,
    now: number,
  ) {
    // With this predecessor the token rule gives a new lock the one token `now`.
    this.last = now - 1;
  }

  /** The block is taken from the time since the last token: it strictly follows that, and never runs ahead of the clock. */
  takeTokens(asked: number, now: number): Grant {
    const end = Math.max(now, this.last + 1);
    const tokens = Math.min(asked, end - this.last);
    this.last = end;
    return { firstToken: end - tokens + 1, tokens };
  }

  /** While the clock has not passed the last token, or might yet be set back before it, a new record could grant it again. */
  forgettableFrom(retention: number): number {
    return Math.max(this.expires, this.last) + retention;
  }
}
