import { LockKeyError } from '../errors/lock-key.error.js';
import type { LockNamespace } from '../interfaces/distributed-lock-module-options.interface.js';
import { encodeValue, whyNoKeyPart } from './encode-value.js';
import { escapeKey, normalizeKey } from './normalize-key.js';

/** Makes of the keys that callers write the full keys that drivers see: normalised, and with the namespace before them. */
export class KeySpace {
  readonly #prefix: string | (() => string);

  constructor(namespace: LockNamespace | undefined) {
    if (typeof namespace === 'function') {
      this.#prefix = () => encodePrefix(namespace());
    } else {
      this.#prefix = namespace === undefined ? '' : `${namespace}:`;
    }
  }

  /** The full key of one. */
  one(key: unknown): string {
    return normalizeKey(key, this.#currentPrefix());
  }

  /** The full keys of several, in the one order in which everybody takes them, each once. */
  many(keys: readonly unknown[]): readonly string[] {
    if (!Array.isArray(keys) || keys.length === 0) {
      throw new LockKeyError('The keys must be a string or an array of strings that is not empty');
    }
    const prefix = this.#currentPrefix();
    // Without a comparator strings are sorted by code unit, the same in every process and locale.
    return [...new Set(keys.map((key) => normalizeKey(key, prefix)))].toSorted();
  }

  /** What the full keys of all keys with this beginning begin with. */
  prefix(prefix: string): string {
    return escapeKey(this.#currentPrefix() + prefix);
  }

  #currentPrefix(): string {
    return typeof this.#prefix === 'string' ? this.#prefix : this.#prefix();
  }
}

/** A tenant is a value like any other: it must not reach into the keys of another one. */
function encodePrefix(namespace: unknown): string {
  const encoded = encodeValue(namespace);
  if (encoded === undefined) {
    throw new LockKeyError(`What the namespace function returned ${whyNoKeyPart(namespace)}`);
  }
  return `${encoded}:`;
}
