import { LockDriverError } from '../errors/lock-driver.error.js';
import type { Denial, Grant, MaybePromise } from '../interfaces/lock-driver.interface.js';
import type { AcquireSettings } from './acquire-settings.js';
import { wantFor } from './back-off.js';
import { cancel, Due } from './due-lists.js';
import type { EngineContext } from './engine-context.js';
import { isPending } from './maybe-promise.js';

/** The tokens to ask for where waiters of this process may follow one another under one lease. */
const TOKEN_BLOCK = 1024;

/** A try without an answer is given up after half the ttl, and after this at the latest. */
export const MAX_ANSWER_TIME = 5000;

/** Asks the driver for a lock, once. It may answer at once, later, never, or throw. */
export function askFor(
  context: EngineContext,
  key: string,
  owner: string,
  settings: AcquireSettings,
  tries: number,
): MaybePromise<Grant | Denial> {
  return context.driver.acquire({
    key,
    owner,
    ttl: settings.ttl,
    tokens: settings.handover ? TOKEN_BLOCK : 1,
    wantFor: settings.wait > 0 ? wantFor(settings.retry, tries) : undefined,
  });
}

export function isGrant(answer: Grant | Denial): answer is Grant {
  return (answer as Partial<Grant> | undefined)?.firstToken !== undefined;
}

/** What became of an {@link Attempt}; each attempt ends in one of these, once. */
export interface AttemptOutcome {
  granted(attempt: Attempt, grant: Grant, now: number): void;
  denied(attempt: Attempt, denial: Denial): void;
  failed(attempt: Attempt, error: unknown): void;
}

/** One try to get a lock from the backend, bounded in time. */
export class Attempt extends Due {
  /** The driver's answer while it is still to come. */
  pending: PromiseLike<Grant | Denial> | null = null;
  #open = true;

  constructor(
    readonly context: EngineContext,
    readonly key: string,
    readonly owner: string,
    readonly settings: AcquireSettings,
    readonly sentAt: number,
    readonly outcome: AttemptOutcome,
  ) {
    super();
  }

  /** Follows what the driver answered to {@link askFor}. */
  follow(answer: MaybePromise<Grant | Denial>): void {
    if (!isPending(answer)) {
      this.#answered(answer, this.sentAt);
      return;
    }
    this.pending = answer;
    const limit = Math.min(this.settings.ttl / 2, MAX_ANSWER_TIME);
    this.context.attempts.schedule(this, this.sentAt + limit, limit);
    answer.then(
      (value) => this.#answeredLater(value),
      (error: unknown) => this.fail(error),
    );
  }

  fail(error: unknown): void {
    if (this.#close()) {
      this.outcome.failed(this, error);
    }
  }

  /** Nobody is interested any more; what the backend may have granted is given back. */
  abandon(): void {
    if (this.#close()) {
      this.context.disowner.disownAttempt(this);
    }
  }

  /** No answer in time: it may have been granted all the same. */
  timedOut(): void {
    const { driver } = this.context;
    this.fail(
      new LockDriverError(`The ${driver.name} backend did not answer in time`, {
        keys: [this.key],
      }),
    );
  }

  #answeredLater(answer: Grant | Denial): void {
    const { clock, roundTrip } = this.context;
    const now = clock.now();
    if (this.#open) {
      roundTrip.observe(now - this.sentAt);
    }
    this.#answered(answer, now);
  }

  #answered(answer: Grant | Denial, now: number): void {
    this.pending = null;
    if (typeof answer !== 'object' || answer === null) {
      const { name } = this.context.driver;
      this.fail(
        new LockDriverError(`The ${name} driver answered an acquire with ${String(answer)}`, {
          keys: [this.key],
        }),
      );
    } else if (this.#close()) {
      if (isGrant(answer)) {
        this.outcome.granted(this, answer, now);
      } else {
        this.outcome.denied(this, answer);
      }
    }
  }

  #close(): boolean {
    const wasOpen = this.#open;
    this.#open = false;
    cancel(this);
    return wasOpen;
  }
}
