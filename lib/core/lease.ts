import type { LockLostReason } from '../errors/lock-lost.error.js';
import type { Grant } from '../interfaces/lock-driver.interface.js';
import { Due } from './due-lists.js';

/** Whom a lease tells what became of it. */
export interface LeaseKeeper {
  readonly key: string;
  leaseLost(lease: Lease, reason: LockLostReason): void;
  /** A renewal is due and the lease is still held. */
  leaseGoesOn(lease: Lease, now: number): void;
}

/** A request for a lock that was granted. */
export interface AskedFor {
  readonly owner: string;
  readonly settings: { readonly ttl: number; readonly autoExtend: boolean };
  /** The monotonic time just before it was sent. */
  readonly sentAt: number;
}

/** A life in sixths: renewed at two, tried again at three to five, lost at six. */
export const FIRST_RENEWAL = 2;
export const DEADLINE = 6;

/** How far the clocks of this process and of the backend may drift apart within a ttl, and how late a timer may fire. */
function driftMargin(ttl: number): number {
  return ttl / 100 + 5;
}

/**
 * What the backend granted to this process for a key, as far as this process can know: held until `deadline`,
 * unless a definite answer says otherwise. It changes by what it is told, and does nothing by itself.
 */
export class Lease extends Due {
  readonly keeper: LeaseKeeper;
  readonly owner: string;
  readonly autoExtend: boolean;
  /** What is asked for by the next renewal. */
  ttl: number;
  /** Whether `extend` has given it another ttl than it was asked for with. */
  retimed = false;
  state: 'held' | 'unknown' | 'ended' = 'held';
  /** The sixth of its life at which it falls due next. */
  step = FIRST_RENEWAL;
  /** Counts the times it was shortened: a renewal sent before that must not raise the deadline again. */
  epoch = 0;
  /** When the request was sent that its present life began with: the backend's ttl cannot have begun before. */
  #since: number;
  /** For how long after that the backend surely keeps it for us. */
  #life: number;
  #nextToken: number;
  #lastToken: number;
  readonly #clockSkew: number;
  /** By epoch, the ttl of each shortening that may still run at the backend at any time. */
  #shortenings: Map<number, number> | null = null;

  constructor(
    keeper: LeaseKeeper,
    { owner, settings, sentAt }: AskedFor,
    grant: Grant,
    clockSkew: number,
  ) {
    super();
    this.keeper = keeper;
    this.owner = owner;
    this.autoExtend = settings.autoExtend;
    this.ttl = settings.ttl;
    this.#clockSkew = clockSkew;
    this.#since = sentAt;
    this.#life = this.#lifeOf(settings.ttl);
    this.#nextToken = grant.firstToken;
    this.#lastToken = grant.firstToken + grant.tokens - 1;
  }

  get key(): string {
    return this.keeper.key;
  }

  /** Until then, by the monotonic clock, the backend surely keeps it for us. */
  get deadline(): number {
    return this.#since + this.#life;
  }

  /** How long after the beginning of its life it falls due next. */
  get span(): number {
    return (this.#life * this.step) / DEADLINE;
  }

  get dueNext(): number {
    return this.#since + this.span;
  }

  get tokensLeft(): number {
    return this.#lastToken - this.#nextToken + 1;
  }

  takeToken(): number {
    return this.#nextToken++;
  }

  isHeld(now: number): boolean {
    return this.state !== 'ended' && now < this.deadline;
  }

  remaining(now: number): number {
    return this.state === 'ended' ? 0 : Math.max(0, this.deadline - now);
  }

  /** What a renewal for `ttl` that is sent now surely gives, if it is confirmed: a shortening may yet run after it. */
  sureTtl(ttl: number): number {
    return Math.min(ttl, ...(this.#shortenings?.values() ?? []));
  }

  /** A shortening has run at the backend, and runs no more. */
  shortened(epoch: number): void {
    this.#shortenings?.delete(epoch);
  }

  /**
   * The backend confirmed a renewal that was sent at `sentAt`, in that epoch. Replies may come late and out of order:
   * the later deadline stands.
   */
  confirm(sentAt: number, sureTtl: number, epoch: number): void {
    const life = this.#lifeOf(sureTtl);
    if (this.state === 'ended' || epoch !== this.epoch || sentAt + life < this.deadline) {
      return;
    }
    this.state = 'held';
    this.#begin(sentAt, life);
  }

  /** A renewal sent at `sentAt` failed or was not answered: true if the lease was not in doubt before. */
  doubt(sentAt: number): boolean {
    if (this.state !== 'held' || sentAt < this.#since) {
      return false;
    }
    this.state = 'unknown';
    return true;
  }

  /** A renewal is sent: the next is due at the next sixth, or the one after that if it is too near. */
  nextStep(now: number): void {
    const sixth = this.#life / DEADLINE;
    do {
      this.step++;
    } while (this.step < DEADLINE && this.dueNext < now + sixth / 2);
  }

  /** Asks for another ttl from `now` on. True if the lease ends earlier by that, and then it does so here at once. */
  retime(ttl: number, now: number): boolean {
    this.retimed ||= ttl !== this.ttl;
    this.ttl = ttl;
    const life = this.#lifeOf(ttl);
    if (now + life >= this.deadline) {
      return false;
    }
    this.epoch++;
    (this.#shortenings ??= new Map()).set(this.epoch, ttl);
    this.#begin(now, life);
    return true;
  }

  /** Nothing that is still under way can change it any more. */
  end(): void {
    this.state = 'ended';
  }

  #begin(since: number, life: number): void {
    this.#since = since;
    this.#life = life;
    this.step = FIRST_RENEWAL;
  }

  #lifeOf(ttl: number): number {
    return ttl - driftMargin(ttl) - this.#clockSkew;
  }
}
