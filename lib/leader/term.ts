import type { EngineHandle } from '../core/lock-handle.js';
import { LockLostError } from '../errors/lock-lost.error.js';

/** One term of office: it ends when the leader's lock is lost or the leader resigns, and settles when nothing runs under it any more. */
export class Term {
  readonly handle: EngineHandle;
  readonly #controller = new AbortController();
  #bodies = 0;
  #settled: (() => void) | null = null;

  constructor(handle: EngineHandle) {
    this.handle = handle;
    const { signal } = handle;
    const lost = (): void => this.#controller.abort(signal.reason);
    signal.addEventListener('abort', lost, { once: true });
    if (signal.aborted) {
      lost();
    }
  }

  /** Aborts when the term ends. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Why it has ended, if it has. */
  get error(): LockLostError | null {
    return this.signal.aborted ? (this.signal.reason as LockLostError) : null;
  }

  /** Whether it certainly goes on, by the clock. */
  get isLive(): boolean {
    return !this.signal.aborted && this.handle.held;
  }

  get fencingToken(): bigint {
    if (!this.isLive) {
      throw this.error ?? new LockLostError({ keys: this.handle.keys, reason: 'released' });
    }
    return this.handle.fencingToken;
  }

  /** Ends it by the leader's own will; the lock is still held. */
  resign(): void {
    this.#controller.abort(new LockLostError({ keys: this.handle.keys, reason: 'resigned' }));
  }

  /** Something runs under it, until what this returns is called. */
  enter(): () => void {
    let isOpen = true;
    this.#bodies++;
    return () => {
      if (isOpen) {
        isOpen = false;
        this.#bodies--;
        this.#look();
      }
    };
  }

  /** Resolves when nothing runs under it. */
  settled(): Promise<void> {
    return new Promise((resolve) => {
      this.#settled = resolve;
      this.#look();
    });
  }

  #look(): void {
    if (this.#bodies === 0) {
      this.#settled?.();
    }
  }
}
