import type {
  AcquireRequest,
  Admission,
  AdmitRequest,
  Denial,
  Grant,
  ListRequest,
  LockDriver,
  LockRecord,
  ReleaseRequest,
  ReleaseResult,
  RenewRequest,
  RenewResult,
  Unsubscribe,
} from '../../interfaces/lock-driver.interface.js';
import { refuseTransaction } from '../fencing-rules.js';
import { ReleaseNotices } from '../release-notices.js';
import { MemoryGate } from './memory-gate.js';
import type { MemoryRecord } from './memory-record.js';
import { MemoryRecords } from './memory-records.js';

/** Options of a {@link MemoryLockDriver}. */
export interface MemoryLockDriverOptions {
  /**
   * Says that one process is all there is, so that there is nothing to warn of in production.
   * @default false
   */
  readonly singleProcess?: boolean;
  /**
   * Milliseconds since the epoch by a clock that never goes back; fractions count.
   * @default the time the process was started at, plus its monotonic clock
   */
  readonly now?: () => number;
}

const RELEASED: ReleaseResult = Object.freeze({ released: true });
const NOT_RELEASED: ReleaseResult = Object.freeze({ released: false });
const RENEWED: RenewResult = Object.freeze({ renewed: true });
const NOT_RENEWED: RenewResult = Object.freeze({ renewed: false });

const startedAt = performance.timeOrigin;
/** Looked up at each call, so that a user's fake timers move leases and engine alike. */
const systemNow = (): number => startedAt + performance.now();

const microseconds = (ms: number): number => ms * 1000;
/** Rounded up: who comes back after so long is not too early. */
const milliseconds = (us: number): number => Math.ceil(us / 1000);

/**
 * Locks for one process, as tests and single-instance apps want them; it answers at once, without promises.
 *
 * A lease that has expired is still its owner's, to renew and to release, for as long as nobody took it. A release with `retainFor` gives notice too: waiters were told of the lease's
 * end, and learn by trying that the key will be free sooner.
 */
export class MemoryLockDriver implements LockDriver {
  readonly name = 'memory';
  /** Whether there is nothing to warn of in production. */
  readonly singleProcess: boolean;
  readonly #clock: () => number;
  readonly #records = new MemoryRecords();
  readonly #notices = new ReleaseNotices();
  readonly #gate = new MemoryGate();

  constructor(options: MemoryLockDriverOptions = {}) {
    this.singleProcess = options.singleProcess ?? false;
    this.#clock = options.now ?? systemNow;
  }

  acquire(request: AcquireRequest): Grant | Denial {
    const now = this.#now();
    const record = this.#records.get(request.key) ?? this.#records.add(request.key, now);
    const expires = now + microseconds(request.ttl);
    if (record.expires > now) {
      return record.owner === request.owner
        ? grantAgain(record, expires)
        : deny(record, request.wantFor, now);
    }
    record.owner = request.owner;
    record.expires = expires;
    record.wantedUntil = 0;
    return record.takeTokens(request.tokens ?? 1, now);
  }

  renew(leases: readonly RenewRequest[]): readonly RenewResult[] {
    const now = this.#now();
    return leases.map((lease) => this.#renewOne(lease, now));
  }

  release(lease: ReleaseRequest): ReleaseResult {
    const record = this.#records.get(lease.key);
    if (record === undefined || record.owner !== lease.owner) {
      return NOT_RELEASED;
    }
    const { retainFor = 0 } = lease;
    if (retainFor === 0 && record.wantedUntil === 0) {
      this.#free(record, 0);
      return RELEASED;
    }
    const now = this.#now();
    // Read before anybody is told: a listener may take the lock at once, and that clears the mark.
    const wantedFor = milliseconds(record.wantedUntil - now);
    this.#free(record, retainFor > 0 ? now + microseconds(retainFor) : 0);
    return wantedFor > 0 ? { released: true, wantedFor } : RELEASED;
  }

  onReleased(key: string, listener: () => void): Unsubscribe {
    return this.#notices.subscribe(key, listener);
  }

  inspect(key: string): LockRecord | null {
    const record = this.#records.get(key);
    const now = this.#now();
    return record !== undefined && record.expires > now ? describe(record, now) : null;
  }

  list(request: ListRequest = {}): readonly LockRecord[] {
    const { prefix = '', limit = 100 } = request;
    const now = this.#now();
    const found: LockRecord[] = [];
    for (const record of this.#records.values()) {
      if (found.length >= limit) {
        break;
      }
      if (record.expires > now && record.key.startsWith(prefix)) {
        found.push(describe(record, now));
      }
    }
    return found;
  }

  forceRelease(key: string): boolean {
    const record = this.#records.get(key);
    if (record === undefined) {
      return false;
    }
    const wasTaken = record.expires > this.#now();
    this.#free(record, 0);
    return wasTaken;
  }

  admitToken(request: AdmitRequest, transaction?: unknown): Admission {
    refuseTransaction(this.name, transaction);
    return this.#gate.admit(request, this.#now());
  }

  /**
   * Forgets the tokens of all resources.
   * @internal
   */
  forgetTokens(): void {
    this.#gate.clear();
  }

  /**
   * How many resources are remembered.
   * @internal
   */
  get resources(): number {
    return this.#gate.size;
  }

  /**
   * How many locks are remembered, free ones included.
   * @internal
   */
  get size(): number {
    return this.#records.size;
  }

  #now(): number {
    return Math.floor(this.#clock() * 1000);
  }

  #renewOne(lease: RenewRequest, now: number): RenewResult {
    const record = this.#records.get(lease.key);
    if (record === undefined || record.owner !== lease.owner) {
      return NOT_RENEWED;
    }
    const expires = now + microseconds(lease.ttl);
    record.expires = lease.shorten ? expires : Math.max(record.expires, expires);
    return lease.bumpToken
      ? { renewed: true, ...record.takeTokens(lease.bumpToken, now) }
      : RENEWED;
  }

  /** Takes the lock from its owner, and leaves it taken by nobody until `expires`. */
  #free(record: MemoryRecord, expires: number): void {
    record.owner = null;
    record.expires = expires;
    this.#notices.tell(record.key);
  }
}

/** Clients resend: the holder gets the token that is surely its own, for no less time than it had. */
function grantAgain(record: MemoryRecord, expires: number): Grant {
  record.expires = Math.max(record.expires, expires);
  return { firstToken: record.last, tokens: 1 };
}

function deny(record: MemoryRecord, wantFor: number | undefined, now: number): Denial {
  if (wantFor !== undefined) {
    record.wantedUntil = Math.max(record.wantedUntil, now + microseconds(wantFor));
  }
  const retryAfter = milliseconds(record.expires - now);
  return record.owner === null ? { retryAfter } : { retryAfter, owner: record.owner };
}

function describe(record: MemoryRecord, now: number): LockRecord {
  return {
    key: record.key,
    owner: record.owner ?? '',
    fencingToken: String(record.last),
    remaining: milliseconds(record.expires - now),
  };
}
