import type { Admission, AdmitRequest } from '../../interfaces/lock-driver.interface.js';
import { MAY_BE_AHEAD } from '../fencing-rules.js';

/** The newest token that a resource has seen, and until when it is remembered; both are microseconds. */
interface Seen {
  readonly resource: string;
  newest: number;
  expires: number;
}

const ADMITTED: Admission = Object.freeze({ admitted: true });

const AHEAD = MAY_BE_AHEAD * 1000;

/** More than one, or the sweep would never catch up with what is added. */
const SWEPT_PER_ADDITION = 2;

/** The newest token of each resource: whoever adds one looks at two others and drops those that were not seen for long. */
export class MemoryGate {
  readonly #seen = new Map<string, Seen>();
  /** Stays valid while resources come and go, and goes round and round. */
  #sweep = this.#seen.values();

  get size(): number {
    return this.#seen.size;
  }

  admit({ resource, token, retention }: AdmitRequest, now: number): Admission {
    const seen = this.#remembered(resource, now);
    const newest = seen?.newest;
    if (token > now + AHEAD) {
      return { admitted: false, rule: 'ahead', newest };
    }
    if (newest !== undefined && token < newest) {
      return { admitted: false, rule: 'older', newest };
    }
    const remembers = retention * 1000;
    // Something newer may have been here and been forgotten.
    if (newest === undefined && token < now - remembers) {
      return { admitted: false, rule: 'forgotten' };
    }
    this.#remember(seen ?? this.#add(resource, now), token, now + remembers + AHEAD);
    return ADMITTED;
  }

  clear(): void {
    this.#seen.clear();
    this.#sweep = this.#seen.values();
  }

  #remembered(resource: string, now: number): Seen | undefined {
    const seen = this.#seen.get(resource);
    return seen !== undefined && seen.expires > now ? seen : undefined;
  }

  #remember(seen: Seen, token: number, expires: number): void {
    seen.newest = token;
    seen.expires = Math.max(seen.expires, expires);
  }

  #add(resource: string, now: number): Seen {
    this.#dropSome(now);
    const seen: Seen = { resource, newest: 0, expires: 0 };
    this.#seen.set(resource, seen);
    return seen;
  }

  #dropSome(now: number): void {
    for (let looked = 0; looked < SWEPT_PER_ADDITION; looked++) {
      const { done, value: seen } = this.#sweep.next();
      if (done) {
        this.#sweep = this.#seen.values();
      } else if (seen.expires <= now) {
        this.#seen.delete(seen.resource);
      }
    }
  }
}
