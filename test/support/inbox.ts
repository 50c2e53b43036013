/** Keeps what has come until somebody asks for it, in the order it came. */
export class Inbox<T> {
  readonly #items: T[] = [];
  readonly #readers: ((item: T) => void)[] = [];

  /** How many have come that nobody has asked for. */
  get size(): number {
    return this.#items.length;
  }

  add(item: T): void {
    const reader = this.#readers.shift();
    if (reader === undefined) {
      this.#items.push(item);
    } else {
      reader(item);
    }
  }

  next(): Promise<T> {
    return this.#items.length > 0
      ? Promise.resolve(this.#items.shift() as T)
      : new Promise((resolve) => this.#readers.push(resolve));
  }
}
