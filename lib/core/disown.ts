import type {
  Denial,
  Grant,
  LockDriver,
  ReleaseRequest,
  ReleaseResult,
} from '../interfaces/lock-driver.interface.js';
import { type Attempt, isGrant } from './attempt.js';
import type { Clock, Timer } from './clock.js';
import { isPending } from './maybe-promise.js';

/** The pause before a second release, in milliseconds: a connection that broke may be back by then. */
const FIRST_PAUSE = 100;

/** An owner that may hold a lock at the backend though nobody here does. */
interface Orphan {
  readonly key: string;
  readonly owner: string;
  readonly ttl: number;
  readonly retainFor: number | undefined;
  /** The pause before the next release; it doubles. */
  pause: number;
  /** When there is nothing left to give back in any case. */
  readonly until: number;
  /** Whether its acquire can no longer run: then one answer is enough. */
  readonly certain: boolean;
  /** Whether its acquire is still waiting for an answer. */
  open: boolean;
  timer: Timer | null;
}

/**
 * Gives back what nobody here uses: what an acquire with an unknown outcome may have been granted, and what a lost
 * turn leaves behind. A release can overtake its acquire on another connection, so it is repeated until one was
 * answered after the acquire could no longer run, or until the lease must have ended by itself.
 */
export class Disowner {
  readonly #driver: LockDriver;
  readonly #clock: Clock;
  readonly #orphans = new Set<Orphan>();
  #stopped = false;

  constructor(driver: LockDriver, clock: Clock) {
    this.#driver = driver;
    this.#clock = clock;
  }

  /** How many owners are being given back. */
  get size(): number {
    return this.#orphans.size;
  }

  /** An acquire failed, was not answered, or was answered when nobody wanted the lock any more. */
  disownAttempt({ key, owner, settings: { ttl }, sentAt, pending }: Attempt): void {
    const orphan = this.#adopt({
      key,
      owner,
      ttl,
      until: sentAt + 2 * ttl,
      open: pending !== null,
    });
    pending?.then(
      (answer) => this.#lateAnswer(orphan, answer),
      () => void (orphan.open = false),
    );
    this.#release(orphan);
  }

  /** A lease that was ours: one answer tells that it is not any more. */
  disownLease(key: string, owner: string, ttl: number, retainFor?: number): void {
    this.#release(
      this.#adopt({ key, owner, ttl, retainFor, until: this.#clock.now() + ttl, certain: true }),
    );
  }

  /** Asks once more for each, waits for the answers at most so long, and leaves the rest to its ttl. */
  async stop(limit: number): Promise<void> {
    this.#stopped = true;
    const orphans = [...this.#orphans];
    for (const orphan of orphans) {
      this.#drop(orphan);
    }
    const answers = Promise.allSettled(
      orphans.map(async (orphan) => this.#driver.release(requestOf(orphan))),
    );
    let timer: Timer | undefined;
    await Promise.race([
      answers,
      new Promise<void>((resolve) => (timer = this.#clock.setTimeout(resolve, limit))),
    ]);
    this.#clock.clearTimeout(timer!);
  }

  #adopt(orphan: Pick<Orphan, 'key' | 'owner' | 'ttl' | 'until'> & Partial<Orphan>): Orphan {
    const adopted = {
      retainFor: undefined,
      certain: false,
      open: false,
      pause: FIRST_PAUSE,
      timer: null,
      ...orphan,
    };
    this.#orphans.add(adopted);
    return adopted;
  }

  #lateAnswer(orphan: Orphan, answer: Grant | Denial): void {
    this.#drop(orphan);
    if (isGrant(answer)) {
      this.disownLease(orphan.key, orphan.owner, orphan.ttl);
    }
  }

  #release(orphan: Orphan): void {
    this.#scheduleNext(orphan);
    try {
      const answer = this.#driver.release(requestOf(orphan));
      if (isPending(answer)) {
        answer.then(
          (result) => this.#answered(orphan, result),
          () => undefined,
        );
      } else {
        this.#answered(orphan, answer);
      }
    } catch {
      // The next one is scheduled already.
    }
  }

  #answered(orphan: Orphan, result: ReleaseResult | undefined | null): void {
    const isSettled = orphan.certain
      ? result?.released !== undefined
      : result?.released && !orphan.open;
    if (isSettled) {
      this.#drop(orphan);
    }
  }

  #scheduleNext(orphan: Orphan): void {
    const now = this.#clock.now();
    if (now >= orphan.until || this.#stopped) {
      this.#drop(orphan);
      return;
    }
    const pause = Math.min(orphan.pause, orphan.until - now);
    orphan.pause *= 2;
    orphan.timer = this.#clock.setTimeout(() => this.#release(orphan), pause);
    orphan.timer.unref();
  }

  #drop(orphan: Orphan): void {
    this.#orphans.delete(orphan);
    if (orphan.timer !== null) {
      this.#clock.clearTimeout(orphan.timer);
      orphan.timer = null;
    }
  }
}

function requestOf({ key, owner, retainFor }: Orphan): ReleaseRequest {
  return retainFor === undefined ? { key, owner } : { key, owner, retainFor };
}
