import type { LockEvent } from '../interfaces/lock-event.interface.js';

/** Takes the events of one engine. */
export type LockEventListener = (event: LockEvent) => void;

/**
 * Hands events to whoever listens. Everyday events are built only if `observed` says that somebody does, so they
 * cost nothing otherwise; trouble is always reported to the operator's log as well.
 */
export class LockEvents {
  readonly #listeners = new Set<LockEventListener>();
  readonly #log: LockEventListener;

  constructor(log: LockEventListener = () => undefined) {
    this.#log = log;
  }

  /** Whether building an everyday event is worth it. */
  get observed(): boolean {
    return this.#listeners.size > 0;
  }

  listen(listener: LockEventListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Tells the listeners; for events that are everyday business. */
  emit(event: LockEvent): void {
    for (const listener of this.#listeners) {
      listener(event);
    }
  }

  /** Tells the operator's log and the listeners; for events that mean trouble. */
  report(event: LockEvent): void {
    this.#log(event);
    this.emit(event);
  }
}
