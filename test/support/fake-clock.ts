import type { Clock, Timer } from '../../lib/core/clock.js';

class FakeTimer implements Timer {
  isRef = true;

  constructor(
    readonly callback: () => void,
    readonly at: number,
  ) {}

  ref(): void {
    this.isRef = true;
  }

  unref(): void {
    this.isRef = false;
  }
}

/** Lets everything that is ready to run in microtasks do so. */
export function microtasks(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A clock that moves when a test says so. */
export class FakeClock implements Clock {
  /** How long the machine was suspended, unseen by any timer. */
  suspended = 0;
  #time = 1_000_000;
  readonly #timers = new Set<FakeTimer>();
  #immediates: (() => void)[] = [];

  now(): number {
    return this.#time + this.suspended;
  }

  setTimeout(callback: () => void, ms: number): Timer {
    const timer = new FakeTimer(callback, this.#time + ms);
    this.#timers.add(timer);
    return timer;
  }

  clearTimeout(timer: Timer): void {
    this.#timers.delete(timer as FakeTimer);
  }

  setImmediate(callback: () => void): void {
    this.#immediates.push(callback);
  }

  /** Resolves when so much time has passed. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.setTimeout(resolve, ms));
  }

  /** How many timers are armed. */
  get timers(): number {
    return this.#timers.size;
  }

  /** How many of them keep the process alive. */
  get refTimers(): number {
    return [...this.#timers].filter(({ isRef }) => isRef).length;
  }

  /** How many turns wait for the event loop. */
  get immediates(): number {
    return this.#immediates.length;
  }

  /** Time passes, but the event loop is blocked: no timer fires. */
  block(ms: number): void {
    this.#time += ms;
  }

  /** Runs what waits for the event loop, and all that follows from it at this moment. */
  async settle(): Promise<void> {
    await microtasks();
    while (this.#immediates.length > 0) {
      const immediates = this.#immediates;
      this.#immediates = [];
      immediates.forEach((callback) => callback());
      await microtasks();
    }
  }

  /** Time passes, and every timer fires when it is due. */
  async advance(ms: number): Promise<void> {
    const end = this.#time + ms;
    await this.settle();
    for (let timer = this.#next(end); timer !== undefined; timer = this.#next(end)) {
      this.#timers.delete(timer);
      this.#time = Math.max(this.#time, timer.at);
      timer.callback();
      await this.settle();
    }
    this.#time = Math.max(this.#time, end);
  }

  #next(end: number): FakeTimer | undefined {
    const [first] = [...this.#timers].toSorted((a, b) => a.at - b.at);
    return first !== undefined && first.at <= end ? first : undefined;
  }
}
