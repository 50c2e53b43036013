import type { EngineContext } from './engine-context.js';
import { Line } from './line.js';

/** So many idle lines are always kept. */
const MIN_IDLE = 1000;

/**
 * The lines of an engine, by key. A line that becomes idle stays for a while, for its key is likely to be wanted again,
 * and taking it in and out costs more than all the rest of a lock. When most lines are idle they are dropped together.
 */
export class Lines {
  readonly #context: EngineContext;
  readonly #lines = new Map<string, Line>();
  #idle = 0;

  constructor(context: EngineContext) {
    this.#context = context;
  }

  /** The line of the key; {@link opened} must follow if it is idle. */
  of(key: string): Line {
    let line = this.#lines.get(key);
    if (line === undefined) {
      line = new Line(this.#context, key);
      this.#lines.set(key, line);
      this.#idle++;
    }
    return line;
  }

  /** The line of the key, if there is one. */
  find(key: string): Line | undefined {
    return this.#lines.get(key);
  }

  values(): Iterable<Line> {
    return this.#lines.values();
  }

  opened(): void {
    this.#idle--;
  }

  becameIdle(): void {
    this.#idle++;
    if (this.#idle > MIN_IDLE && this.#idle > this.#lines.size / 2) {
      this.#dropIdle();
    }
  }

  #dropIdle(): void {
    for (const line of this.#lines.values()) {
      if (line.isIdle) {
        this.#lines.delete(line.key);
      }
    }
    this.#idle = 0;
  }
}
