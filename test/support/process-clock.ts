import type { Clock, Timer } from '../../lib/core/clock.js';
import type { FakeClock } from './fake-clock.js';

class ProcessTimer implements Timer {
  inner: Timer | null = null;

  ref(): void {
    this.inner?.ref();
  }

  unref(): void {
    this.inner?.unref();
  }
}

/** The clock of one process among several on one {@link FakeClock}: all see the same time, but each can be paused. */
export class ProcessClock implements Clock {
  #pausedUntil = 0;
  readonly #timers = new Set<ProcessTimer>();

  constructor(private readonly world: FakeClock) {}

  /** How many timers of this process are armed. */
  get timers(): number {
    return this.#timers.size;
  }

  get paused(): boolean {
    return this.world.now() < this.#pausedUntil;
  }

  /** Nothing of this process runs for so long. */
  pause(ms: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.world.now() + ms);
  }

  now(): number {
    return this.world.now();
  }

  setTimeout(callback: () => void, ms: number): Timer {
    const timer = new ProcessTimer();
    this.#timers.add(timer);
    this.#arm(timer, callback, ms);
    return timer;
  }

  clearTimeout(timer: Timer): void {
    if (timer instanceof ProcessTimer && this.#timers.delete(timer) && timer.inner !== null) {
      this.world.clearTimeout(timer.inner);
    }
  }

  setImmediate(callback: () => void): void {
    this.world.setImmediate(() => this.whenRunning(callback));
  }

  /** Calls back now, or when the pause is over. */
  whenRunning(callback: () => void): void {
    if (this.paused) {
      this.world.setTimeout(() => this.whenRunning(callback), this.#pausedUntil - this.world.now());
    } else {
      callback();
    }
  }

  #arm(timer: ProcessTimer, callback: () => void, ms: number): void {
    timer.inner = this.world.setTimeout(() => {
      if (this.paused) {
        this.#arm(timer, callback, this.#pausedUntil - this.world.now());
      } else {
        this.#timers.delete(timer);
        callback();
      }
    }, ms);
  }
}
