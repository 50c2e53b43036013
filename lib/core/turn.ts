import { setMaxListeners } from 'node:events';
import { LockLostError, type LockLostReason } from '../errors/lock-lost.error.js';
import type { AcquireSettings } from './acquire-settings.js';
import { cancel, Due } from './due-lists.js';
import type { EngineContext } from './engine-context.js';
import { Hold } from './hold.js';
import type { Lease } from './lease.js';
import type { Answer } from './maybe-promise.js';

/** A lock held for so many ttls is worth a word to the operator. */
const HELD_LONG = 10;

/** For how long a lock is to be held, at least and at most. */
export type HoldLimits = Pick<AcquireSettings, 'minHold' | 'maxHold'>;

/** The line that a turn belongs to. */
export interface TurnKeeper {
  /** The turn is over and everything under it has ended. */
  turnOver(turn: Turn): Answer;
  /** The turn was lost before, and everything under it has ended now. */
  lostTurnSettled(turn: Turn): void;
}

/** One caller's use of a lease: its token, what runs under it, and whether it was lost. */
export class Turn {
  readonly root: Hold;
  lost: LockLostError | null = null;
  /** Whether everything under it has ended. */
  settled = false;
  #toldHeldLong = false;
  #controller: AbortController | null = null;
  #minHold = 0;
  #maxHold: MaxHold | null = null;
  #onSettled: (() => void)[] | null = null;

  constructor(
    readonly context: EngineContext,
    readonly lease: Lease,
    public token: number,
    readonly settings: AcquireSettings,
    readonly startedAt: number,
    readonly keeper: TurnKeeper,
  ) {
    this.root = new Hold(this, null);
    this.limit(settings, startedAt);
  }

  /** Sets for how long the key is to be kept at least, and after how long since `from` it is given up for lost. */
  limit({ minHold, maxHold }: HoldLimits, from: number): void {
    this.#minHold = minHold;
    if (maxHold !== Infinity) {
      this.#maxHold = new MaxHold(this);
      this.context.maxHolds.schedule(this.#maxHold, from + maxHold, maxHold);
    }
  }

  /** Looks at the clock, and loses the turn if its lease has run out: whoever looks first after a pause is told. */
  isHeld(now: number): boolean {
    if (this.settled || this.lost !== null) {
      return false;
    }
    if (!this.lease.isHeld(now)) {
      this.lease.keeper.leaseLost(this.lease, 'expired');
      return false;
    }
    return true;
  }

  /** True once, when the lock has been held for so long that the operator should know. */
  isHeldLong(now: number): boolean {
    // A term of office lasts for as long as it may.
    const isLong = now - this.startedAt >= HELD_LONG * this.lease.ttl;
    const isHeldLong = isLong && !this.#toldHeldLong && this.settings.term === undefined;
    this.#toldHeldLong ||= isHeldLong;
    return isHeldLong;
  }

  get hasMinHold(): boolean {
    return this.#minHold > 0;
  }

  /** For how many milliseconds `minHold` still wants the key to be kept. */
  minHoldLeft(now: number): number | undefined {
    const left = this.#minHold - (now - this.startedAt);
    return left > 0 ? Math.ceil(left) : undefined;
  }

  /** Made when it is asked for: most turns end without anybody having looked at it. */
  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      // Work that fans out may well have more listeners than Node takes for a leak.
      setMaxListeners(0, this.#controller.signal);
      if (this.lost !== null) {
        this.#controller.abort(this.lost);
      }
    }
    return this.#controller.signal;
  }

  lose(reason: LockLostReason): LockLostError {
    this.lost = new LockLostError({ keys: [this.lease.key], reason });
    this.#stopMaxHold();
    this.root.failWaiting(this.lost);
    this.#controller?.abort(this.lost);
    return this.lost;
  }

  /** Everything under the turn has ended. */
  settle(): Answer {
    this.settled = true;
    this.#stopMaxHold();
    this.#onSettled?.forEach((callback) => callback());
    if (this.lost === null) {
      return this.keeper.turnOver(this);
    }
    this.keeper.lostTurnSettled(this);
    return false;
  }

  onSettled(callback: () => void): void {
    (this.#onSettled ??= []).push(callback);
  }

  maxHoldOver(): void {
    this.lease.keeper.leaseLost(this.lease, 'maxHold');
  }

  #stopMaxHold(): void {
    if (this.#maxHold !== null) {
      cancel(this.#maxHold);
    }
  }
}

/** The moment at which a turn has been held for too long. */
export class MaxHold extends Due {
  constructor(readonly turn: Turn) {
    super();
  }
}
