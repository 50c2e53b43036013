import type { Clock } from './clock.js';

/** So many turns may follow one another in microtasks alone. */
const TURNS_PER_YIELD = 256;

/**
 * Makes every 256th turn wait for the event loop. Turns that follow one another in microtasks would otherwise keep
 * every timer from firing, that of the lost signal included.
 */
export class Pacer {
  readonly #clock: Clock;
  #turns = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts a turn; true if it has to wait for {@link afterYield}. */
  get mustYield(): boolean {
    return (++this.#turns & (TURNS_PER_YIELD - 1)) === 0;
  }

  afterYield(callback: () => void): void {
    this.#clock.setImmediate(callback);
  }

  /** Counts a turn, and calls back at once or after the yield that is due. */
  pace(callback: () => void): void {
    if (this.mustYield) {
      this.afterYield(callback);
    } else {
      callback();
    }
  }
}
