import { LockClosedError } from '../errors/lock-closed.error.js';
import type { EngineContext } from './engine-context.js';
import type { Lines } from './lines.js';
import type { Turn } from './turn.js';

/** How long the last releases may take, in milliseconds. */
const LAST_RELEASES = 1000;

/** What a caller is told that comes too late. */
export function closedError(key: string): LockClosedError {
  return new LockClosedError(`${key} is not locked: the application is shutting down`, {
    keys: [key],
  });
}

/**
 * Ends an engine without breaking its promise: what is held gets its time, and what still runs after that is told
 * that its lock is lost but is never released under its feet. Its ttl ends it.
 */
export class Shutdown {
  closed = false;
  readonly #context: EngineContext;
  readonly #lines: Lines;
  #deadline = 0;
  #stopping: Promise<void> | null = null;

  constructor(context: EngineContext, lines: Lines) {
    this.#context = context;
    this.#lines = lines;
  }

  async drain(timeout: number): Promise<void> {
    this.#deadline = this.#context.clock.now() + timeout;
    await this.#untilSettled(this.#turns());
  }

  stop(): Promise<void> {
    return (this.#stopping ??= this.#stop());
  }

  async #stop(): Promise<void> {
    const { clock, disowner, lists } = this.#context;
    this.closed = true;
    this.#closeLines((nested) => nested);
    for (
      let turns = this.#turns();
      turns.length > 0 && clock.now() < this.#deadline;
      turns = this.#turns()
    ) {
      await this.#untilSettled(turns);
    }
    this.#closeLines(() => false);
    for (const line of this.#lines.values()) {
      line.lose('stopped');
    }
    await this.#releasesAnswered();
    this.#closeLines(() => false);
    await disowner.stop(LAST_RELEASES);
    lists.stop();
  }

  #turns(): Turn[] {
    return [...this.#lines.values()].map(({ turn }) => turn).filter((turn) => turn !== null);
  }

  #closeLines(spares: (nested: boolean) => boolean): void {
    for (const line of this.#lines.values()) {
      line.close(closedError(line.key), ({ claim }) => spares(claim.nested));
    }
  }

  /** Each is bounded by a part of its ttl. */
  async #releasesAnswered(): Promise<void> {
    await Promise.all(Array.from(this.#context.releases.pending(), ({ settled }) => settled));
  }

  #untilSettled(turns: readonly Turn[]): Promise<void> {
    const { clock } = this.#context;
    if (turns.length === 0) {
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const timer = clock.setTimeout(resolve, Math.max(0, this.#deadline - clock.now()));
      let left = turns.length;
      const oneLess = (): void => {
        if (--left === 0) {
          clock.clearTimeout(timer);
          resolve();
        }
      };
      turns.forEach((turn) => turn.onSettled(oneLess));
    });
  }
}
