import { cpuTime } from './cpu-time.js';

/** Watches the timers of this process: how many are pending, and what their callbacks cost. */
export class TimerWatch {
  readonly #pending = new Set<NodeJS.Timeout>();
  #busy = 0;

  /** Takes the place of the global functions; timers that are there already are not seen. */
  constructor() {
    const { setTimeout: set, clearTimeout: clear } = globalThis;
    const watched = (callback: () => void, ms?: number): NodeJS.Timeout => {
      const timer = set(() => {
        this.#pending.delete(timer);
        const start = cpuTime();
        callback();
        this.#busy += cpuTime() - start;
      }, ms);
      this.#pending.add(timer);
      return timer;
    };
    globalThis.setTimeout = watched as typeof setTimeout;
    globalThis.clearTimeout = (timer) => {
      this.#pending.delete(timer as NodeJS.Timeout);
      clear(timer);
    };
  }

  /** How many timers are pending, those included that do not keep the process alive. */
  get pending(): number {
    return this.#pending.size;
  }

  /** Milliseconds of CPU spent in callbacks so far. */
  get busy(): number {
    return this.#busy;
  }
}
