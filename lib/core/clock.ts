import { uptime } from 'node:os';

/** A timer that can keep the process alive, or not. */
export interface Timer {
  ref(): unknown;
  unref(): unknown;
}

/** Time as the engine sees it; unit tests bring their own. */
export interface Clock {
  /** Milliseconds of a clock that never goes back, and that goes on while the machine is suspended. */
  now(): number;
  setTimeout(callback: () => void, ms: number): Timer;
  clearTimeout(timer: Timer): void;
  setImmediate(callback: () => void): void;
}

/** The clocks of the operating system, in milliseconds. */
export interface ClockSources {
  /** Never goes back, but may stand still while the machine is suspended. */
  monotonic(): number;
  /** May be set, and so tells only that something has happened. */
  wall(): number;
  /** Goes on while the machine is suspended, but is coarse and costs a hundred times more; undefined if time is faked. */
  uptime(): number | undefined;
}

/** The longest delay that Node's timers take. */
const MAX_TIMEOUT = 2 ** 31 - 1;

/** By so much clocks may differ by their resolution and by the time it takes to read them. */
const TOLERANCE = 50;

/** The wall clock is looked at once in so long: often enough to be told of a suspension at once. */
const LOOK_INTERVAL = 1;

/** The clock of the process. */
export class SystemClock implements Clock {
  readonly #sources: ClockSources;
  /** How long the monotonic clock stood still. */
  #missed = 0;
  #lookedAt: number;
  #wallAhead: number;
  #uptimeAhead: number;

  constructor(sources: ClockSources) {
    this.#sources = sources;
    this.#lookedAt = sources.monotonic();
    this.#wallAhead = sources.wall() - this.#lookedAt;
    this.#uptimeAhead = (sources.uptime() ?? 0) - this.#lookedAt;
  }

  now(): number {
    const monotonic = this.#sources.monotonic();
    if (monotonic - this.#lookedAt > LOOK_INTERVAL) {
      this.#look(monotonic);
    }
    return monotonic + this.#missed;
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

  #look(monotonic: number): void {
    this.#lookedAt = monotonic;
    const wallAhead = this.#sources.wall() - monotonic;
    if (Math.abs(wallAhead - this.#wallAhead) > TOLERANCE) {
      this.#wallAhead = wallAhead;
      this.#catchUp();
    }
  }

  #catchUp(): void {
    const upFor = this.#sources.uptime();
    if (upFor === undefined) {
      return;
    }
    // Read last: what passes between the two makes the difference smaller, and is not taken for a suspension.
    const uptimeAhead = upFor - this.#sources.monotonic();
    if (uptimeAhead - this.#uptimeAhead > TOLERANCE) {
      this.#missed += uptimeAhead - this.#uptimeAhead;
    }
    this.#uptimeAhead = Math.max(this.#uptimeAhead, uptimeAhead);
  }
}

const realNow: unknown = Reflect.get(performance, 'now');

/** One for the process. Each function is looked up when it is called, so that a user's fake timers work. */
export const systemClock: Clock = new SystemClock({
  monotonic: () => performance.now(),
  wall: () => Date.now(),
  uptime: () => (Reflect.get(performance, 'now') === realNow ? uptime() * 1000 : undefined),
});
