import { setMaxListeners } from 'node:events';
import type { LockEngine } from '../core/lock-engine.js';
import type { KeyHandle } from '../core/lock-handle.js';
import { lostErrorOf } from '../core/lost-error.js';
import { LockLostError, type LockLostReason } from '../errors/lock-lost.error.js';
import type { LeaderTerm } from '../interfaces/leader-election.interface.js';
import type { MaybePromise } from '../interfaces/lock-driver.interface.js';
import type { LockHandle } from '../interfaces/lock-handle.interface.js';

/** Who has been elected to what. */
export interface Candidate {
  readonly name: string;
  readonly nodeId: string;
  readonly engine: LockEngine;
}

const terms = new WeakMap<LockHandle, Term>();

/** The term whose lock this is the handle of. */
export function termOf(handle: LockHandle): LeaderTerm | undefined {
  return terms.get(handle);
}

/** One term of office: it ends when the leader's lock is lost or the leader resigns, and settles when nothing runs under it any more. */
export class Term implements LeaderTerm {
  readonly handle: KeyHandle;
  readonly #candidate: Candidate;
  readonly #controller = new AbortController();
  #bodies = 0;
  #settled: (() => void) | null = null;

  constructor(candidate: Candidate, handle: KeyHandle) {
    this.#candidate = candidate;
    this.handle = handle;
    terms.set(handle, this);
    setMaxListeners(0, this.#controller.signal);
    const { signal } = handle;
    const lost = (): void => this.#controller.abort(signal.reason);
    signal.addEventListener('abort', lost, { once: true });
    if (signal.aborted) {
      lost();
    }
    // Whoever runs under the lock can reach it, and give it back.
    handle.onSettled(() => this.#end('released'));
  }

  get name(): string {
    return this.#candidate.name;
  }

  get nodeId(): string {
    return this.#candidate.nodeId;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Why it has ended, if it has. */
  get error(): LockLostError | null {
    return this.signal.aborted ? (this.signal.reason as LockLostError) : null;
  }

  get isLive(): boolean {
    return !this.signal.aborted && this.handle.held;
  }

  get fencingToken(): bigint {
    if (!this.isLive) {
      throw this.error ?? this.#lostBy('released');
    }
    return this.handle.fencingToken;
  }

  /** Ends it by the leader's own will; the lock is still held. */
  resign(): void {
    this.#end('resigned');
  }

  /** Runs something for the leader, as its lock's holder. Rejects with `LockLostError` if the lock was lost meanwhile. */
  async run<T>(work: () => MaybePromise<T>): Promise<T> {
    const leave = this.enter();
    try {
      const result = await this.runUnder(work);
      this.#throwIfLost();
      return result;
    } catch (error) {
      this.#throwIfLost(error);
      throw error;
    } finally {
      leave();
    }
  }

  /** Runs something as the holder of the leader's lock. */
  runUnder<T>(work: () => T): T {
    return this.#candidate.engine.runUnder(this.handle, work);
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

  #end(reason: LockLostReason): void {
    this.#controller.abort(this.#lostBy(reason));
  }

  #throwIfLost(error?: unknown): void {
    const lost = lostErrorOf(this.handle, error);
    if (lost !== null) {
      throw lost;
    }
  }

  #lostBy(reason: LockLostReason): LockLostError {
    return new LockLostError({ keys: this.handle.keys, reason });
  }
}
