import type { LockLostReason } from '../errors/lock-lost.error.js';
import type { Grant } from '../interfaces/lock-driver.interface.js';
import type { AcquireSettings, TermSettings } from './acquire-settings.js';
import { Due } from './due-lists.js';

/** Whom a lease tells what became of it. */
export interface LeaseKeeper {
  readonly key: string;
  leaseLost(lease: Lease, reason: LockLostReason): void;
  /** A renewal is due and the lease is still held. */
  leaseGoesOn(lease: Lease, now: number): void;
  /** A renewal has brought a new token. */
  tokenRaised(lease: Lease, token: number): void;
}

/** A request for a lock that was granted. */
export interface AskedFor {
  readonly owner: string;
  readonly settings: Pick<AcquireSettings, 'ttl' | 'autoExtend' | 'term'>;
  /** The monotonic time just before it was sent. */
  readonly sentAt: number;
}

/** A life in sixths: renewed at two, tried again at three to five, lost at six. */
const FIRST_RENEWAL = 2;
const DEADLINE = 6;

/** How far the clocks of this process and of the backend may drift apart within a ttl, and how late a timer may fire. */
export function driftMargin(ttl: number): number {
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
  readonly term: TermSettings | undefined;
  /** What is asked for by the next renewal. */
  ttl: number;
  /** Whether `extend` has given it another ttl than it was asked for with. */
  retimed = false;
  state: 'held' | 'unknown' | 'ended' = 'held';
  /** How often it has fallen due since it was last confirmed. */
  #tries = 0;
  /** Counts the times it was shortened: a renewal sent before that must not raise the deadline again. */
  epoch = 0;
  /** When the request was sent that its present life began with: the backend's ttl cannot have begun before. */
  #since: number;
  /** For how long after that the backend surely keeps it for us. */
  #life: number;
  #nextToken: number;
  #lastToken: number;
  /** When its last tokens were asked for. */
  #tokensSince: number;
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
    this.term = settings.term;
    this.ttl = settings.ttl;
    this.#clockSkew = clockSkew;
    this.#since = sentAt;
    this.#life = this.#lifeOf(settings.ttl);
    this.#nextToken = grant.firstToken;
    this.#lastToken = grant.firstToken + grant.tokens - 1;
    this.#tokensSince = sentAt;
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
    return this.#firstTry + this.#tries * this.#pause;
  }

  /** Whether it falls due once more before its deadline. */
  get mayRenew(): boolean {
    return this.autoExtend && this.span < this.#life - this.#life / (2 * DEADLINE);
  }

  /** Whether a renewal that is due has not been answered. */
  get isUnanswered(): boolean {
    return this.#tries > 0;
  }

  get #firstTry(): number {
    const sixth = this.#life / DEADLINE;
    return this.term === undefined
      ? FIRST_RENEWAL * sixth
      : Math.min(this.term.heartbeat, this.#life / 2);
  }

  /** Between two tries. */
  get #pause(): number {
    const sixth = this.#life / DEADLINE;
    return this.term === undefined ? sixth : Math.min(this.term.heartbeat, sixth);
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

  /** Whether a renewal that is sent now has to bring a new token; heartbeats come a little early. */
  isTokenDue(now: number): boolean {
    const { term } = this;
    return term !== undefined && now - this.#tokensSince >= term.tokenPeriod - term.heartbeat / 2;
  }

  /** A renewal that was sent at `sentAt` has brought this token; replies may come out of order, and the largest stands. */
  raiseToken(token: number, sentAt: number): void {
    if (token > this.#lastToken) {
      this.#nextToken = token;
      this.#lastToken = token;
      this.#tokensSince = sentAt;
      this.keeper.tokenRaised(this, this.takeToken());
    }
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

  /** A renewal is sent: the next is due after a pause, or the one after that if it is too near. */
  nextTry(now: number): void {
    do {
      this.#tries++;
    } while (this.mayRenew && this.dueNext < now + this.#pause / 2);
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
    this.#tries = 0;
  }

  #lifeOf(ttl: number): number {
    return ttl - driftMargin(ttl) - this.#clockSkew;
  }
}
