import type { Leadership } from '../../lib/interfaces/leader-election.interface.js';
import { LockLostError } from '../../lib/errors/lock-lost.error.js';
import type { SeenTerm, TermLog } from '../support/leader/term-log.js';

/** Looks at a leadership again and again, and writes down its terms. */
export class TermWatch {
  #count = -1;
  #signal: AbortSignal | undefined;
  #term: SeenTerm | undefined;

  constructor(private readonly log: TermLog) {}

  /** How often it has led in the present term, or in the last one. */
  get looks(): number {
    return Number(this.#term?.looks ?? 0);
  }

  look(leadership: Leadership): void {
    const before = process.hrtime.bigint();
    if (!leadership.isLeader) {
      return;
    }
    const token = tokenOf(leadership);
    const after = process.hrtime.bigint();
    this.#see(leadership.signal, token, before, after);
  }

  #see(signal: AbortSignal, token: bigint, before: bigint, after: bigint): void {
    if (signal !== this.#signal || this.#term === undefined) {
      this.#signal = signal;
      this.#count++;
      this.#term = {
        since: after,
        until: before,
        firstToken: 0n,
        lastToken: 0n,
        looks: 0n,
        falls: 0n,
      };
    }
    const { since, firstToken, lastToken, looks, falls } = this.#term;
    this.#term = {
      since,
      until: before,
      firstToken: firstToken === 0n ? token : firstToken,
      lastToken: token > lastToken ? token : lastToken,
      looks: looks + 1n,
      falls: token !== 0n && token < lastToken ? falls + 1n : falls,
    };
    this.log.write(this.#count, this.#term);
  }
}

/** It may have stopped being the leader since it was asked. */
function tokenOf(leadership: Leadership): bigint {
  try {
    return leadership.fencingToken;
  } catch (error) {
    if (error instanceof LockLostError) {
      return 0n;
    }
    throw error;
  }
}
