import type { MaybePromise } from '../interfaces/lock-driver.interface.js';

interface Scene<T> {
  left: number;
  readonly play: () => MaybePromise<T>;
}

/** Answers for the next requests, in the order they were written. */
export class AnswerScript<T> {
  readonly #scenes: Scene<T>[] = [];

  answer(times: number, answer: T): void {
    this.#add(times, () => answer);
  }

  fail(times: number, error: Error): void {
    this.#add(times, () => Promise.reject(error));
  }

  clear(): void {
    this.#scenes.length = 0;
  }

  /** The next answer, or undefined where none is written. */
  next(): MaybePromise<T> | undefined {
    const scene = this.#scenes[0];
    if (scene === undefined) {
      return undefined;
    }
    if (--scene.left <= 0) {
      this.#scenes.shift();
    }
    return scene.play();
  }

  #add(times: number, play: () => MaybePromise<T>): void {
    if (times > 0) {
      this.#scenes.push({ left: times, play });
    }
  }
}
