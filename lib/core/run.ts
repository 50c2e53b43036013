/**
 * Callers of one process that follow one another, over one lease or several: for a limited time, so that other
 * processes get their chance.
 */
export class Run {
  readonly #startedAt: number;
  readonly #maxTime: number;
  /** Our own next grant clears the mark of others at the backend; what a release said of it is remembered here. */
  #wantedUntil = 0;

  constructor(startedAt: number, maxTime: number) {
    this.#startedAt = startedAt;
    this.#maxTime = maxTime;
  }

  isOver(now: number): boolean {
    return now - this.#startedAt >= this.#maxTime;
  }

  /** Others were found to want the lock, for so many milliseconds more. */
  wanted(wantedFor: number, now: number): void {
    this.#wantedUntil = Math.max(this.#wantedUntil, now + wantedFor);
  }

  /** For how many milliseconds more they do. */
  wantedFor(now: number): number {
    return Math.max(0, this.#wantedUntil - now);
  }
}
