/** Does one thing after the other, until it is closed. */
export class Lane {
  #last: Promise<void> = Promise.resolve();
  #closed = false;

  add(job: () => Promise<void> | void): void {
    const previous = this.#last;
    this.#last = (async () => {
      await previous;
      if (!this.#closed) {
        await job();
      }
    })();
  }

  /** What has not begun yet never will. */
  close(): void {
    this.#closed = true;
  }

  get isClosed(): boolean {
    return this.#closed;
  }
}
