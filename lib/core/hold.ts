import { LockTimeoutError } from '../errors/lock-timeout.error.js';
import type { LockError } from '../errors/lock.error.js';
import type { LockLostError } from '../errors/lock-lost.error.js';
import type { MaybePromise } from '../interfaces/lock-driver.interface.js';
import { KeyHandle } from './lock-handle.js';
import type { Answer } from './maybe-promise.js';
import type { Turn } from './turn.js';
import { type Claim, Waiter, WaiterQueue, type WaitingPlace } from './waiter-queue.js';

/**
 * One taking of a lock: the root of a turn's tree, or a re-entrant one below the hold whose frame it was called in.
 * Siblings take turns among themselves; a hold counts for its parent until all below it is closed too.
 */
export class Hold {
  readonly turn: Turn;
  /** Whether its own body still runs: only then does its frame admit others. */
  open = true;
  readonly #parent: Hold | null;
  /** Itself while open, the child that runs, and the children that wait. */
  #alive = 1;
  #child: Hold | null = null;
  #siblings: Siblings | null = null;

  constructor(turn: Turn, parent: Hold | null) {
    this.turn = turn;
    this.#parent = parent;
  }

  /** Takes the lock once more under this hold, at once or when the sibling before is done. */
  admit(claim: Claim, now: number): MaybePromise<KeyHandle> {
    if (this.#child === null) {
      this.#alive++;
      return this.#startChild();
    }
    this.#siblings ??= new Siblings(this);
    if (claim.settings.wait === 0) {
      throw this.#siblings.busy(0);
    }
    this.#alive++;
    return new Waiter(this.turn.context, this.#siblings, claim, now).promise;
  }

  /** The body is done. Answers whether the lock was given back properly, or is still held by others of the turn. */
  close(): Answer {
    this.open = false;
    return this.#oneLess();
  }

  /** A waiting child gave up. */
  childLeft(): void {
    void this.#oneLess();
  }

  /** The turn is lost: nobody below gets the lock any more. */
  failWaiting(error: LockLostError): void {
    const waiting = this.#siblings?.waiters;
    if (waiting !== undefined) {
      this.#alive -= waiting.size;
      waiting.failAll(() => error);
    }
    this.#child?.failWaiting(error);
  }

  #startChild(): KeyHandle {
    this.#child = new Hold(this.turn, this);
    return new KeyHandle(this.#child);
  }

  #childDone(): Answer {
    this.#child = null;
    this.#siblings?.waiters.first?.grant(this.#startChild());
    return this.#oneLess();
  }

  #oneLess(): Answer {
    if (--this.#alive > 0) {
      return this.turn.lost === null;
    }
    return this.#parent === null ? this.turn.settle() : this.#parent.#childDone();
  }
}

/** The children of a hold that wait for their turn among themselves. */
class Siblings implements WaitingPlace {
  readonly waiters = new WaiterQueue();
  readonly #hold: Hold;

  constructor(hold: Hold) {
    this.#hold = hold;
  }

  get key(): string {
    return this.#hold.turn.lease.key;
  }

  busy(waited: number): LockError {
    return new LockTimeoutError({ keys: [this.key], owner: this.#hold.turn.lease.owner, waited });
  }

  timeoutError(waiter: Waiter, now: number): LockError {
    return this.busy(now - waiter.enteredAt);
  }

  waiterLeft(): void {
    this.#hold.childLeft();
  }
}
