import type { LockLostError } from '../errors/lock-lost.error.js';
import type { LockEvent } from '../interfaces/lock-event.interface.js';
import type { Clock } from './clock.js';

/** Takes the events of one engine. */
export type LockEventListener = (event: LockEvent) => void;

/** A key and who has it at the backend. */
interface Tenure {
  readonly key: string;
  readonly owner: string;
}

/**
 * Tells what happens. Everyday events are built only if somebody listens, so they cost nothing otherwise; trouble
 * always goes to the operator's log as well.
 */
export class LockEvents {
  readonly #listeners = new Set<LockEventListener>();
  readonly #log: LockEventListener;
  #untold: LockEvent[] = [];

  constructor(log: LockEventListener = () => undefined) {
    this.#log = log;
  }

  /** Whether anybody listens. */
  get observed(): boolean {
    return this.#listeners.size > 0;
  }

  listen(listener: LockEventListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  waiting(key: string, waiters: number): void {
    if (this.observed) {
      this.#tell({ type: 'waiting', key, waiters });
    }
  }

  busy(key: string, waited: number, owner?: string): void {
    if (this.observed) {
      this.#tell({ type: 'busy', key, waited, owner });
    }
  }

  acquired({ key, owner }: Tenure, token: number, waited: number): void {
    if (this.observed) {
      this.#tell({ type: 'acquired', key, owner, fencingToken: String(token), waited });
    }
  }

  renewed({ key, owner }: Tenure): void {
    if (this.observed) {
      this.#tell({ type: 'renewed', key, owner });
    }
  }

  released({ key, owner }: Tenure, since: number, clock: Clock, handedOver: boolean): void {
    if (this.observed) {
      this.#tell({ type: 'released', key, owner, held: clock.now() - since, handedOver });
    }
  }

  /** Nobody knows whether a renewal or a release arrived. */
  unknown(
    { key, owner }: Tenure,
    during: 'renew' | 'release',
    cause: unknown,
    remaining: number,
  ): void {
    this.#report({ type: 'unknown', key, owner, during, cause, remaining });
  }

  lost({ key, owner }: Tenure, error: LockLostError): void {
    this.#report({ type: 'lost', key, owner, error });
  }

  heldLong({ key, owner }: Tenure, held: number): void {
    this.#report({ type: 'heldLong', key, owner, held });
  }

  /** Later, but in order: a listener that takes or frees locks must not find the engine half way through a change. */
  #tell(event: LockEvent): void {
    if (this.#untold.push(event) === 1) {
      queueMicrotask(() => this.#flush());
    }
  }

  #flush(): void {
    const events = this.#untold;
    this.#untold = [];
    for (const event of events) {
      for (const listener of this.#listeners) {
        listener(event);
      }
    }
  }

  #report(event: LockEvent): void {
    try {
      this.#log(event);
    } catch {
      // A logger that fails must not keep a lock from being given up.
    }
    if (this.observed) {
      this.#tell(event);
    }
  }
}
