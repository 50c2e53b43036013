import { LockDriverError } from '../errors/lock-driver.error.js';
import type { MaybePromise, ReleaseResult } from '../interfaces/lock-driver.interface.js';
import { MAX_ANSWER_TIME } from './attempt.js';
import { cancel, Due } from './due-lists.js';
import type { EngineContext } from './engine-context.js';
import type { Lease } from './lease.js';
import { type Answer, isPending } from './maybe-promise.js';

/** The part of a ttl after which a release without an answer is unknown. */
const ANSWER_TIME = 1 / 6;

/** Told what the backend said to a release; null when it said nothing in time, or failed. */
export type OnReleased = (result: ReleaseResult | null) => boolean;

/** Gives a lease back; the answer, where there is one at once, costs no promise. */
export function releaseLease(
  context: EngineContext,
  lease: Lease,
  retainFor: number | undefined,
  onReleased: OnReleased,
): Answer {
  // From here on this owner is never renewed, handed over or used again.
  context.renewals.forget(lease);
  const { key, owner } = lease;
  let answer: MaybePromise<ReleaseResult>;
  try {
    answer = context.driver.release(
      retainFor === undefined ? { key, owner } : { key, owner, retainFor },
    );
  } catch (error) {
    answer = Promise.reject(error);
  }
  return isPending(answer)
    ? new Releasing(context, lease, retainFor, onReleased).follow(answer)
    : onReleased(answer);
}

/** A release that is under way: answered, failed, or unknown after a while and then repeated behind. */
export class Releasing extends Due {
  readonly settled: Promise<boolean>;
  #settle!: (released: boolean) => void;
  #open = true;

  constructor(
    readonly context: EngineContext,
    readonly lease: Lease,
    readonly retainFor: number | undefined,
    readonly onReleased: OnReleased,
  ) {
    super();
    this.settled = new Promise((resolve) => (this.#settle = resolve));
  }

  follow(answer: PromiseLike<ReleaseResult>): Promise<boolean> {
    const { clock, lists, releases } = this.context;
    const limit = Math.min(this.lease.ttl * ANSWER_TIME, MAX_ANSWER_TIME);
    releases.schedule(this, clock.now() + limit, limit);
    lists.keepAlive();
    answer.then(
      (result) => this.#end(result),
      (error: unknown) => this.fail(error),
    );
    return this.settled;
  }

  timedOut(): void {
    this.fail(new LockDriverError('A release has not been answered', { keys: [this.lease.key] }));
  }

  fail(cause: unknown): void {
    if (!this.#open) {
      return;
    }
    const { key, owner, ttl } = this.lease;
    this.context.disowner.disownLease(key, owner, ttl, this.retainFor);
    this.context.events.unknown(this.lease, 'release', cause, 0);
    this.#end(null);
  }

  #end(result: ReleaseResult | null): void {
    if (!this.#open) {
      return;
    }
    this.#open = false;
    cancel(this);
    this.context.lists.letGo();
    this.#settle(this.onReleased(result));
  }
}
