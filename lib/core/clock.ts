import { uptime } from 'node:os';

/** A timer that can keep the process alive, or not. */
export interface Timer {
  ref(): unknown;
  unref(): unknown;
}

/** Time as the engine sees it; unit tests bring their own. */
export interface Clock {
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  setTimeout(callback: () => void, ms: number): Timer;
  clearTimeout(timer: Timer): void;
  setImmediate(callback: () => void): void;
  /**
   * Looks whether the machine was suspended since the last look. `now()` stands still meanwhile where the
   * monotonic clock does, so it is moved ahead by what it missed: leases that ran out are then seen to have.
   */
  resync(): void;
}

/** The longest delay that Node's timers take. */
export const MAX_TIMEOUT = 2 ** 31 - 1;

/** What `os.uptime()` may be off by its own resolution. */
const UPTIME_TOLERANCE = 50;

/** Fake timers in a user's tests replace it, and then there is no suspension to look for. */
const realNow: unknown = Reflect.get(performance, 'now');

class SystemClock implements Clock {
  #missed = 0;
  #lag = readLag();

  now(): number {
    return performance.now() + this.#missed;
  }

  setTimeout(callback: () => void, ms: number): Timer {
    return setTimeout(callback, Math.min(ms, MAX_TIMEOUT));
  }

  clearTimeout(timer: Timer): void {
    clearTimeout(timer as NodeJS.Timeout);
  }

  setImmediate(callback: () => void): void {
    setImmediate(callback);
  }

  resync(): void {
    if (Reflect.get(performance, 'now') !== realNow) {
      return;
    }
    const lag = readLag();
    if (lag - this.#lag > UPTIME_TOLERANCE) {
      this.#missed += lag - this.#lag;
    }
    this.#lag = lag;
  }
}

/** How far the clock that counts suspension is ahead of the one that may not. */
function readLag(): number {
  return uptime() * 1000 - performance.now();
}

/** One for the process: a suspension is seen by all engines at once. */
export const systemClock: Clock = new SystemClock();
