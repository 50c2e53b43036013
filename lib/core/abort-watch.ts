/** What is told when a signal aborts. */
export interface Abortable {
  aborted(reason: unknown): void;
}

/** One signal and all that wait under it, with one listener: a signal may outlive thousands of them. */
class Watched {
  readonly waiting = new Set<Abortable>();

  constructor(readonly signal: AbortSignal) {
    signal.addEventListener('abort', this);
  }

  handleEvent(): void {
    for (const abortable of this.waiting) {
      abortable.aborted(this.signal.reason);
    }
  }

  end(): void {
    this.signal.removeEventListener('abort', this);
  }
}

/** The callers' signals. Nothing stays on a signal once nobody waits under it any more. */
export class AbortWatch {
  readonly #watched = new Map<AbortSignal, Watched>();

  add(signal: AbortSignal, abortable: Abortable): void {
    let watched = this.#watched.get(signal);
    if (watched === undefined) {
      watched = new Watched(signal);
      this.#watched.set(signal, watched);
    }
    watched.waiting.add(abortable);
  }

  remove(signal: AbortSignal, abortable: Abortable): void {
    const watched = this.#watched.get(signal);
    if (watched?.waiting.delete(abortable) && watched.waiting.size === 0) {
      watched.end();
      this.#watched.delete(signal);
    }
  }
}
