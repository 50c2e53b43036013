import { LockConfigError } from '../errors/lock-config.error.js';
import { LockKeyError } from '../errors/lock-key.error.js';
import { encodeValue, separates, whyNoKeyPart } from './encode-value.js';

/** `<0>`, `<1.customer.id>`, or the same in braces. */
const PLACEHOLDER = /<([^<>{}]*)>|\{([^<>{}]*)\}/g;
const PATH = /^\d+(?:\.[\p{L}\p{N}_$]+)*$/u;
const BRACKET = /[<>{}]/;

/** A value of the arguments: which one, and the way into it. */
interface Placeholder {
  readonly text: string;
  readonly index: number;
  readonly path: readonly string[];
}

/** A key such as `order:<0.id>`, compiled once; {@link resolve} fills in the arguments that a method is called with. */
export class KeyTemplate {
  /** One more than there are placeholders. */
  readonly #literals: string[] = [];
  readonly #placeholders: Placeholder[] = [];
  readonly #where: string;

  /** @param where names class and method in messages */
  constructor(source: string, where: string) {
    this.#where = where;
    let end = 0;
    for (const match of source.matchAll(PLACEHOLDER)) {
      this.#literals.push(source.slice(end, match.index));
      this.#placeholders.push(this.#parse(match[0], match[1] ?? match[2] ?? ''));
      end = match.index + match[0].length;
    }
    this.#literals.push(source.slice(end));
    this.#check(source);
  }

  resolve(args: readonly unknown[]): string {
    let key = this.#literals[0]!;
    this.#placeholders.forEach((placeholder, i) => {
      const value = valueOf(args, placeholder);
      const part = encodeValue(value);
      if (part === undefined) {
        const what = `${placeholder.text} ${whyNoKeyPart(value)}`;
        throw new LockKeyError(`${this.#where}: the key cannot be made, for ${what}`);
      }
      key += part + this.#literals[i + 1]!;
    });
    return key;
  }

  #parse(text: string, path: string): Placeholder {
    if (!PATH.test(path)) {
      throw new LockConfigError(
        `${this.#where}: ${text} is no placeholder; write <0> for the first argument, <0.id> for a property of it`,
      );
    }
    const [index, ...rest] = path.split('.');
    return { text, index: Number(index), path: rest };
  }

  #check(source: string): void {
    if (source === '') {
      throw new LockConfigError(`${this.#where}: a key must not be empty`);
    }
    if (this.#literals.some((literal) => BRACKET.test(literal))) {
      throw new LockConfigError(
        `${this.#where}: '${source}' has a bracket without its counterpart`,
      );
    }
    const glued = this.#literals.slice(1, -1).findIndex((literal) => !separates(literal));
    if (glued >= 0) {
      const [left, right] = [this.#placeholders[glued]!.text, this.#placeholders[glued + 1]!.text];
      throw new LockConfigError(
        `${this.#where}: between ${left} and ${right} in '${source}' there must be one of : / | or a blank, ` +
          `or different arguments make the same key`,
      );
    }
  }
}

function valueOf(args: readonly unknown[], { index, path }: Placeholder): unknown {
  return path.reduce<unknown>(
    (value, name) =>
      value === undefined || value === null ? undefined : Reflect.get(Object(value), name),
    args[index],
  );
}
