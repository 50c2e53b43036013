import { AsyncResource } from 'node:async_hooks';
import { Observable } from 'rxjs';
import { currentLock } from '../../../../lib/core/frames.js';
import type { LockHandle } from '../../../../lib/interfaces/lock-handle.interface.js';
import type { Random } from '../../../support/random.js';

/** Knows of no request. */
const foreign = new AsyncResource('foreign');

/** One stretch of a handler's work: a promise until it has settled, or a subscription to its source. */
interface Running {
  readonly lock: LockHandle | undefined;
}

/** The bodies of one key: they do what the seed says, and tell if two of them ever run at once. */
export class Bodies {
  readonly #running = new Set<Running>();
  runs = 0;

  constructor(
    private readonly random: Random,
    private readonly violated: (what: string) => void,
  ) {}

  get isRunning(): boolean {
    return this.#running.size > 0;
  }

  /** Settles after a while, with an error now and then. */
  async promise(): Promise<unknown> {
    const leave = this.#enter();
    const [delay, fails] = [this.#pause(), this.#fails()];
    try {
      if (delay > 0) {
        await new Promise((resolve) => setTimeout(resolve, delay));
      }
      if (fails) {
        throw new Error('refused');
      }
      return 'done';
    } finally {
      leave();
    }
  }

  /** Emits some values, at once, later, or in the async context of somebody else, and ends. */
  observable(): Observable<unknown> {
    return new Observable((subscriber) => {
      const leave = this.#enter();
      const pauses = Array.from({ length: this.random.int(0, 3) }, () => this.#pause());
      const last = { pause: this.#pause(), fails: this.#fails() };
      const clock = new BodyClock(this.random.chance(0.2));
      const end = (): void =>
        last.fails ? subscriber.error(new Error('refused')) : subscriber.complete();
      const step = (i: number): void => {
        const pause = pauses[i];
        if (subscriber.closed) {
          return;
        }
        clock.after(pause ?? last.pause, () => {
          if (pause === undefined) {
            end();
          } else {
            subscriber.next(i);
            step(i + 1);
          }
        });
      };
      step(0);
      return () => {
        clock.stop();
        leave();
      };
    });
  }

  #pause(): number {
    return this.random.chance(0.5) ? 0 : this.random.int(1, 20);
  }

  #fails(): boolean {
    return this.random.chance(0.2);
  }

  #enter(): () => void {
    const running = { lock: currentLock() };
    this.runs++;
    if (running.lock === undefined) {
      this.violated('a body runs without its lock');
    }
    // Who has lost his lock runs on beside the next, and was told so.
    for (const { lock } of this.#running) {
      if (lock?.signal.aborted === false) {
        this.violated('two bodies run at once');
      }
    }
    this.#running.add(running);
    return () => this.#running.delete(running);
  }
}

/** The timer of one body. */
class BodyClock {
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly isForeign: boolean) {}

  after(ms: number, work: () => void): void {
    const start = (): void => {
      this.#timer = setTimeout(work, ms);
    };
    if (this.isForeign) {
      foreign.runInAsyncScope(start);
    } else if (ms > 0) {
      start();
    } else {
      work();
    }
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
