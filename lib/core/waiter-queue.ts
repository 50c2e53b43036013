import { LockAbortedError } from '../errors/lock-aborted.error.js';
import type { LockError } from '../errors/lock.error.js';
import type { Abortable } from './abort-watch.js';
import type { AcquireSettings } from './acquire-settings.js';
import { cancel, Due } from './due-lists.js';
import type { EngineContext } from './engine-context.js';
import type { KeyHandle } from './lock-handle.js';

/** Where a waiter stands: in a key's line, or among the siblings under one frame. */
export interface WaitingPlace {
  readonly key: string;
  readonly waiters: WaiterQueue;
  /** What the waiter is told when its time is over. */
  timeoutError(waiter: Waiter, now: number): LockError;
  /** The waiter left without the lock, and is in the queue no more. */
  waiterLeft(waiter: Waiter): void;
}

/** What a caller asks for beyond its settings. */
export interface Claim {
  readonly settings: AcquireSettings;
  /** When the caller began to ask for several keys together; null if it wants this one alone. */
  readonly since: number | null;
  /** Whether it is called from under a lock that is still held: it may go on while the engine shuts down. */
  readonly nested: boolean;
}

/** One caller that waits for a key. It is settled once: by a grant, by a failure, by its time or by its signal. */
export class Waiter extends Due implements Abortable {
  readonly promise: Promise<KeyHandle>;
  readonly enteredAt: number;
  next: Waiter | null = null;
  previous: Waiter | null = null;
  readonly #context: EngineContext;
  readonly #place: WaitingPlace;
  #resolve!: (handle: KeyHandle) => void;
  #reject!: (error: LockError) => void;

  constructor(
    context: EngineContext,
    place: WaitingPlace,
    readonly claim: Claim,
    now: number,
  ) {
    super();
    this.enteredAt = claim.since ?? now;
    this.#context = context;
    this.#place = place;
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    place.waiters.push(this);
    const { wait, signal } = claim.settings;
    if (wait > 0 && wait !== Infinity) {
      context.waits.schedule(this, this.enteredAt + wait, wait);
    }
    if (signal !== undefined) {
      context.aborts.add(signal, this);
    }
    context.lists.keepAlive();
  }

  get settings(): AcquireSettings {
    return this.claim.settings;
  }

  grant(handle: KeyHandle): void {
    this.#leave();
    this.#context.pacer.pace(() => this.#resolve(handle));
  }

  /** Takes the waiter out and tells it why it gets nothing. */
  fail(error: LockError): void {
    this.#leave();
    this.#context.pacer.pace(() => this.#reject(error));
  }

  timedOut(now: number): void {
    this.fail(this.#place.timeoutError(this, now));
    this.#place.waiterLeft(this);
  }

  /** Its signal aborted. */
  aborted(cause: unknown): void {
    const { key } = this.#place;
    this.fail(
      new LockAbortedError(`Waiting for ${key} was aborted by the caller's signal`, {
        keys: [key],
        cause,
      }),
    );
    this.#place.waiterLeft(this);
  }

  #leave(): void {
    this.#place.waiters.remove(this);
    cancel(this);
    if (this.settings.signal !== undefined) {
      this.#context.aborts.remove(this.settings.signal, this);
    }
    this.#context.lists.letGo();
  }
}

/** Waiters in the order they came; each can leave from anywhere at no cost. */
export class WaiterQueue {
  first: Waiter | null = null;
  size = 0;
  #last: Waiter | null = null;

  push(waiter: Waiter): void {
    waiter.previous = this.#last;
    if (this.#last === null) {
      this.first = waiter;
    } else {
      this.#last.next = waiter;
    }
    this.#last = waiter;
    this.size++;
  }

  remove(waiter: Waiter): void {
    if (waiter.previous === null) {
      this.first = waiter.next;
    } else {
      waiter.previous.next = waiter.next;
    }
    if (waiter.next === null) {
      this.#last = waiter.previous;
    } else {
      waiter.next.previous = waiter.previous;
    }
    waiter.next = null;
    waiter.previous = null;
    this.size--;
  }

  /** Fails every waiter for which `error` gives a reason. */
  failAll(error: (waiter: Waiter) => LockError | null): void {
    for (let waiter = this.first; waiter !== null;) {
      const { next } = waiter;
      const reason = error(waiter);
      if (reason !== null) {
        waiter.fail(reason);
      }
      waiter = next;
    }
  }
}
