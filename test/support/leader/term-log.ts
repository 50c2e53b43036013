import { openSync, readFileSync, writeSync } from 'node:fs';

/** A term as its own process saw it, by the monotonic clock of the machine, which all processes share. */
export interface SeenTerm {
  /** It surely led by then: the first look that said so had ended (ns). */
  readonly since: bigint;
  /** It surely led until then: the last look that said so had not begun yet (ns). */
  readonly until: bigint;
  /** The smallest and the largest fencing token; 0 if none was read. */
  readonly firstToken: bigint;
  readonly lastToken: bigint;
  /** How often it was found to be the leader. */
  readonly looks: bigint;
  /** How often a token was smaller than the one before. */
  readonly falls: bigint;
}

const FIELDS = ['since', 'until', 'firstToken', 'lastToken', 'looks', 'falls'] as const;
const SIZE = FIELDS.length * BigInt64Array.BYTES_PER_ELEMENT;

/** Keeps the terms of a process in a file, each look at once: what was written survives SIGKILL. */
export class TermLog {
  readonly #file: number;
  readonly #entry = new BigInt64Array(FIELDS.length);

  constructor(path: string) {
    this.#file = openSync(path, 'w');
  }

  /** The terms that a process has written. */
  static read(path: string): SeenTerm[] {
    const bytes = readFileSync(path);
    return Array.from({ length: Math.floor(bytes.length / SIZE) }, (_, term) => {
      const values = FIELDS.map((name, i) => [name, bytes.readBigInt64LE(term * SIZE + 8 * i)]);
      return Object.fromEntries(values) as SeenTerm;
    });
  }

  /** Writes what is known of the term of this number, over what was known of it before. */
  write(number: number, term: SeenTerm): void {
    FIELDS.forEach((name, i) => (this.#entry[i] = term[name]));
    writeSync(this.#file, this.#entry, 0, SIZE, number * SIZE);
  }
}
