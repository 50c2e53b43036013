/** What is under way on one connection. If that is lost, nobody knows what became of it, even if an answer comes by another. */
export class UnderWay {
  readonly #rejections = new Set<(error: Error) => void>();

  follow<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#rejections.add(reject);
      answer.then(resolve, reject).finally(() => this.#rejections.delete(reject));
    });
  }

  /** The connection is lost. */
  lose(): void {
    const error = new Error(
      'The connection was lost before it was known whether the replicas have it',
    );
    this.#rejections.forEach((reject) => reject(error));
    this.#rejections.clear();
  }
}
