import { LockDriverError } from '../errors/lock-driver.error.js';
import { LockLostError } from '../errors/lock-lost.error.js';
import { LockError } from '../errors/lock.error.js';
import type { LockHandle, LockHandleJson } from '../interfaces/lock-handle.interface.js';
import type { Duration } from '../interfaces/lock-options.interface.js';
import { MAX_ANSWER_TIME } from './attempt.js';
import type { EngineContext } from './engine-context.js';
import { bounded } from './bounded.js';
import type { FrameLocks } from './frames.js';
import type { Hold } from './hold.js';
import { type Answer, FALSE, TRUE } from './maybe-promise.js';
import type { HoldLimits } from './turn.js';

/** A handle as the engine sees it. */
export interface EngineHandle extends LockHandle, FrameLocks {
  /** Whether all of its keys were held by the caller before, so that it only goes along with another handle. */
  readonly isJoined: boolean;
  assertHeld(): void;
  /** Why the lock was lost, if it was; looks at the clock. */
  lostError(): LockLostError | null;
  /** Like `release`, but the answer costs no promise where it is known at once. */
  close(): Answer;
}

/** The handle of one key. */
export class KeyHandle implements EngineHandle {
  readonly #hold: Hold;
  #closed: Answer | null = null;

  constructor(hold: Hold) {
    this.#hold = hold;
  }

  get keys(): readonly string[] {
    return [this.#key];
  }

  get owner(): string {
    return this.#hold.turn.lease.owner;
  }

  get fencingToken(): bigint {
    return BigInt(this.#hold.turn.token);
  }

  get fencingTokens(): readonly bigint[] {
    return [this.fencingToken];
  }

  get signal(): AbortSignal {
    return this.#hold.turn.signal;
  }

  get held(): boolean {
    return this.#hold.open && this.#hold.turn.isHeld(this.#context.clock.now());
  }

  get remaining(): number {
    return this.held ? this.#hold.turn.lease.remaining(this.#context.clock.now()) : 0;
  }

  assertHeld(): void {
    if (!this.held) {
      throw this.#hold.turn.lost ?? new LockLostError({ keys: this.keys, reason: 'released' });
    }
  }

  async extend(ttl?: Duration): Promise<void> {
    const { lease } = this.#hold.turn;
    const { clock, driver, parseTtl, renewals } = this.#context;
    const span = ttl === undefined ? lease.ttl : parseTtl(ttl);
    this.assertHeld();
    try {
      const ms = Math.min(span / 2, MAX_ANSWER_TIME);
      await bounded(renewals.extend(lease, span), { clock, ms, signal: this.signal });
    } catch (cause) {
      this.assertHeld();
      throw cause instanceof LockError
        ? cause
        : new LockDriverError(`The ${driver.name} backend failed to extend ${this.#key}`, {
            keys: this.keys,
            cause,
          });
    }
    this.assertHeld();
  }

  release(): Promise<boolean> {
    const closed = this.close();
    return typeof closed === 'object' ? closed : closed ? TRUE : FALSE;
  }

  close(): Answer {
    return (this.#closed ??= this.#hold.close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.release().then(() => undefined);
  }

  toJSON(): LockHandleJson {
    const { keys, owner, held, remaining } = this;
    return { keys, owner, fencingTokens: this.fencingTokens.map(String), held, remaining };
  }

  /** Sets how long it is to be held, from now on, unless the lock was joined and is another's. */
  limit(limits: HoldLimits): void {
    if (!this.isJoined) {
      this.#hold.turn.limit(limits, this.#context.clock.now());
    }
  }

  /** Calls back when nobody holds the lock any more, whoever gave it back. */
  onSettled(callback: () => void): void {
    this.#hold.turn.onSettled(callback);
  }

  holdOn(key: string, context: EngineContext): Hold | null {
    return this.#key === key && this.isOf(context) ? this.#hold : null;
  }

  isOf(context: EngineContext): boolean {
    return this.#context === context;
  }

  get isLive(): boolean {
    return this.held;
  }

  find(fits: (handle: EngineHandle) => boolean): EngineHandle | undefined {
    return fits(this) && this.held ? this : undefined;
  }

  get isJoined(): boolean {
    return this.#hold.turn.root !== this.#hold;
  }

  lostError(): LockLostError | null {
    const { turn } = this.#hold;
    turn.isHeld(this.#context.clock.now());
    return turn.lost;
  }

  get #key(): string {
    return this.#hold.turn.lease.key;
  }

  get #context(): EngineContext {
    return this.#hold.turn.context;
  }
}
