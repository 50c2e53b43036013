import { randomBytes } from 'node:crypto';

/**
 * Names contenders: `<node>#<random><counter>`. One draw of randomness per engine and a counter are as unique as a
 * random id each, and far cheaper.
 */
export class Owners {
  readonly #prefix: string;
  #count = 0;

  constructor(node: string, random: string = randomBytes(9).toString('base64url')) {
    this.#prefix = `${node}#${random}.`;
  }

  next(): string {
    return this.#prefix + (this.#count++).toString(36);
  }

  /** Whether it has named this one. */
  named(owner: string): boolean {
    return owner.startsWith(this.#prefix);
  }
}
