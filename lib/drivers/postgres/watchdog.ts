/** Barks when something takes too long. Its timer stays when it is called off, for what is watched is mostly over soon. */
export class Watchdog {
  #timer: NodeJS.Timeout | undefined;
  #wakesAt = Infinity;
  #deadline = Infinity;
  #bark: () => void = () => undefined;

  watch(ms: number, bark: () => void): void {
    this.#deadline = performance.now() + ms;
    this.#bark = bark;
    if (this.#deadline < this.#wakesAt) {
      this.#wakeAfter(ms);
    }
  }

  callOff(): void {
    this.#deadline = Infinity;
  }

  /** It does not keep the process alive: what it watches does. */
  #wakeAfter(ms: number): void {
    clearTimeout(this.#timer);
    this.#wakesAt = performance.now() + ms;
    this.#timer = setTimeout(() => this.#look(), ms).unref();
  }

  #look(): void {
    this.#wakesAt = Infinity;
    const left = this.#deadline - performance.now();
    if (left <= 0) {
      this.#deadline = Infinity;
      this.#bark();
    } else if (left < Infinity) {
      this.#wakeAfter(Math.ceil(left));
    }
  }
}
