import type { LockLostReason } from '../errors/lock-lost.error.js';
import type { Grant } from '../interfaces/lock-driver.interface.js';
import { Due } from './due-lists.js';

/** Whom a lease tells what became of it. */
export interface LeaseKeeper {
  leaseLost(lease: Lease, reason: LockLostReason): void;
  /** A renewal is due and the lease is still held. */
  leaseGoesOn(lease: Lease, now: number): void;
}

/** How far the clocks of this process and of the backend may drift apart within a ttl, and how late a timer may fire. */
function driftMargin(ttl: number): number {
  return ttl / 100 + 5;
}

/** Renewals are due at so many sixths of a lease's life; at the sixth it is over. */
export const FIRST_RENEWAL = 2;
export const LAST_STEP = 6;

/**
 * What the backend granted to this process for a key, as far as this process can know: held until `deadline`,
 * unless a definite answer says otherwise. It changes by what it is told, and does nothing by itself.
 */
export class Lease extends Due {
  readonly key: string;
  readonly owner: string;
  readonly autoExtend: boolean;
  readonly keeper: LeaseKeeper;
  ttl: number;
  /** Until then, by the monotonic clock, the backend surely keeps it for us. */
  deadline: number;
  state: 'held' | 'unknown' | 'ended' = 'held';
  /** Whether `extend` has given it another ttl than it was asked for with. */
  retimed = false;
  /** When the request was sent that was confirmed last. */
  confirmedAt: number;
  /** The sixth of its life at which it falls due next. */
  step = FIRST_RENEWAL;
  /** Counts the times it was shortened: a renewal sent before that must not raise the deadline again. */
  epoch = 0;
  #nextToken: number;
  #lastToken: number;
  readonly #clockSkew: number;

  constructor(
    key: string,
    owner: string,
    settings: { readonly ttl: number; readonly autoExtend: boolean },
    grant: Grant,
    sentAt: number,
    clockSkew: number,
    keeper: LeaseKeeper,
  ) {
    super();
    this.key = key;
    this.owner = owner;
    this.autoExtend = settings.autoExtend;
    this.keeper = keeper;
    this.ttl = settings.ttl;
    this.#clockSkew = clockSkew;
    this.confirmedAt = sentAt;
    this.#nextToken = grant.firstToken;
    this.#lastToken = this.#nextToken + grant.tokens - 1;
    this.deadline = this.deadlineFrom(sentAt, settings.ttl);
  }

  /** A request sent at `sentAt` can have started the ttl no earlier; what it gives is counted from there. */
  deadlineFrom(sentAt: number, ttl: number): number {
    return sentAt + ttl - driftMargin(ttl) - this.#clockSkew;
  }

  isHeld(now: number): boolean {
    return this.state !== 'ended' && now < this.deadline;
  }

  remaining(now: number): number {
    return this.state === 'ended' ? 0 : Math.max(0, this.deadline - now);
  }

  get tokensLeft(): number {
    return this.#lastToken - this.#nextToken + 1;
  }

  takeToken(): number {
    return this.#nextToken++;
  }

  /** The backend confirmed a renewal for `ttl` sent at `sentAt`. Replies may come late and out of order: the later deadline stands. */
  confirm(sentAt: number, ttl: number, epoch: number): void {
    if (this.state === 'ended' || epoch !== this.epoch) {
      return;
    }
    this.state = 'held';
    this.deadline = Math.max(this.deadline, this.deadlineFrom(sentAt, ttl));
    if (sentAt > this.confirmedAt) {
      this.confirmedAt = sentAt;
      this.step = FIRST_RENEWAL;
    }
  }

  /** A renewal failed or was not answered: true if the lease was not in doubt before. */
  doubt(): boolean {
    if (this.state !== 'held') {
      return false;
    }
    this.state = 'unknown';
    return true;
  }

  /** Gives it another ttl from `now` on; true if it ends earlier by that, and then it does so here at once. */
  retime(ttl: number, now: number): boolean {
    this.retimed ||= ttl !== this.ttl;
    this.ttl = ttl;
    const deadline = this.deadlineFrom(now, ttl);
    if (deadline >= this.deadline) {
      return false;
    }
    this.deadline = deadline;
    this.epoch++;
    return true;
  }

  /** Nothing that is still under way can change it any more. */
  end(): void {
    this.state = 'ended';
  }
}
