import { formatMs } from '../errors/format.js';
import { LockDriverError } from '../errors/lock-driver.error.js';
import type { LockError } from '../errors/lock.error.js';
import type {
  Denial,
  Grant,
  MaybePromise,
  Unsubscribe,
} from '../interfaces/lock-driver.interface.js';
import type { AcquireSettings } from './acquire-settings.js';
import { askFor, Attempt, type AttemptOutcome } from './attempt.js';
import { backOff } from './back-off.js';
import type { Timer } from './clock.js';
import type { EngineContext } from './engine-context.js';
import type { Owners } from './owners.js';
import type { WaiterQueue } from './waiter-queue.js';

/** The line for which a contender tries. */
export interface ContendingLine {
  readonly key: string;
  readonly waiters: WaiterQueue;
  granted(attempt: Attempt, grant: Grant, now: number): void;
  denied(tries: number): void;
  failed(): void;
  /** The pause is over: try again if anybody still waits. */
  goOn(): void;
}

/** Where notices of a release work, others need no more than this and three round trips to come. */
const MIN_STAND_BACK = 10;

/** Who has had a turn comes so much later, for each of the others whose turn it is, than who has not. */
const COURTESY = 5;

/** A backend that takes so long to answer is to blame for what is not got. */
const LONG_SILENCE = 1000;

/**
 * The one that asks the backend on behalf of a whole line: try, subscribe to the notice of a release, try again, then
 * rest until a notice, the end of the holder's lease or the back-off, whichever comes first.
 */
export class Contender implements AttemptOutcome {
  /** What the backend said last, if it denied. */
  denial: Denial | null = null;
  /** Whether others wanted the lock when this process gave it back, and are let go first. */
  standing = false;
  readonly #context: EngineContext;
  readonly #line: ContendingLine;
  /** Kept through all tries, unless one of them may have left something behind. */
  #owner: string | null = null;
  /** Who gave that name. */
  #owners: Owners | null = null;
  #attempt: Attempt | null = null;
  #tries = 0;
  #failure: unknown = null;
  #rest: Timer | null = null;
  #unsubscribe: Unsubscribe | null = null;
  /** A notice came while a try was under way: its denial may be older than the release. */
  #noticed = false;
  /**
   * How many releases by others to let pass: notices come in the same order again and again, and without this the
   * first two to hear would keep the lock between them.
   */
  #letPass = 0;

  constructor(context: EngineContext, line: ContendingLine) {
    this.#context = context;
    this.#line = line;
  }

  try(): void {
    if (this.#attempt !== null) {
      return;
    }
    this.#wake();
    const { clock, owners } = this.#context;
    const { settings } = this.#line.waiters.first!;
    const names = settings.term?.owners ?? owners;
    const owner = this.#owners === names ? (this.#owner ?? names.next()) : names.next();
    const sentAt = clock.now();
    let answer: MaybePromise<Grant | Denial>;
    try {
      answer = askFor(this.#context, this.#line.key, owner, settings, this.#tries);
    } catch (error) {
      answer = Promise.reject(error);
    }
    this.adopt(owner, settings, sentAt, answer);
  }

  /** Goes on from a request that was sent already. */
  adopt(
    owner: string,
    settings: AcquireSettings,
    sentAt: number,
    answer: MaybePromise<Grant | Denial>,
  ): void {
    this.#owner = owner;
    this.#owners = settings.term?.owners ?? this.#context.owners;
    this.#attempt = new Attempt(this.#context, this.#line.key, owner, settings, sentAt, this);
    this.#attempt.follow(answer);
  }

  /**
   * Lets others go first: as long as they need to hear of it, or where no notices are sent until they come back. Of
   * several each gets its turn.
   */
  standBack(wantedFor: number, wantedBy = 1): void {
    const { driver, roundTrip } = this.#context;
    const needed = driver.onReleased ? Math.max(MIN_STAND_BACK, 3 * roundTrip.ms) : Infinity;
    this.standing = true;
    this.#letPass = Math.max(0, wantedBy - 1);
    this.#pause(Math.min(needed, wantedFor));
    if (this.#line.waiters.size === 0) {
      this.letGo();
    }
  }

  /** Somebody waits again: the pause must keep the process alive. */
  keepAlive(): void {
    this.#rest?.ref();
  }

  letGo(): void {
    this.#rest?.unref();
  }

  /** Nobody waits any more. */
  stop(): void {
    this.#wake();
    this.#attempt?.abandon();
    this.#attempt = null;
    this.#unsubscribeIfNeeded();
  }

  /** Why the backend is to blame, if it is, for somebody having waited in vain. */
  failure(enteredAt: number, now: number): LockError | null {
    if (this.#failure === null && !this.#isSilent(enteredAt, now)) {
      return null;
    }
    const { key } = this.#line;
    const { name } = this.#context.driver;
    const what = this.#failure === null ? 'did not answer' : `failed (${messageOf(this.#failure)})`;
    const message = `${key} is not locked: the ${name} backend ${what} within ${formatMs(now - enteredAt)}`;
    return new LockDriverError(message, { keys: [key], cause: this.#failure ?? undefined });
  }

  /** Whether a try has been under way for all of the time, or for long, and nothing is known of the lock. */
  #isSilent(enteredAt: number, now: number): boolean {
    if (this.denial !== null || this.#attempt === null) {
      return false;
    }
    const { sentAt } = this.#attempt;
    return sentAt <= enteredAt || now - sentAt >= LONG_SILENCE;
  }

  granted(attempt: Attempt, grant: Grant, now: number): void {
    this.#ended(null, null);
    this.#owner = null;
    this.#tries = 0;
    this.#letPass = 0;
    this.#line.granted(attempt, grant, now);
  }

  denied(_attempt: Attempt, denial: Denial): void {
    this.#ended(denial, null);
    this.#line.denied(this.#tries);
    if (this.#line.waiters.size === 0) {
      this.#line.goOn();
    } else if (this.#subscribe()) {
      this.try();
    } else if (this.#noticed) {
      this.#noticed = false;
      this.#react();
    } else {
      this.#pause(Math.min(this.#backOff(), denial.retryAfter ?? Infinity));
    }
  }

  failed(attempt: Attempt, error: unknown): void {
    this.#ended(this.denial, error);
    this.#owner = null;
    this.#context.disowner.disownAttempt(attempt);
    this.#line.failed();
    if (this.#line.waiters.size === 0) {
      this.#line.goOn();
    } else {
      this.#pause(this.#backOff());
    }
  }

  #ended(denial: Denial | null, failure: unknown): void {
    this.#attempt = null;
    this.#tries++;
    this.denial = denial;
    this.#failure = failure;
  }

  #backOff(): number {
    return backOff(this.#line.waiters.first!.settings.retry, this.#tries - 1, this.#context.random);
  }

  /** True if the subscription is new: a release before it went unheard. */
  #subscribe(): boolean {
    const { driver } = this.#context;
    if (this.#unsubscribe !== null || driver.onReleased === undefined) {
      return false;
    }
    try {
      this.#unsubscribe = driver.onReleased(this.#line.key, () => this.#notice());
      return true;
    } catch {
      // Notices are a hint: without them the back-off does it.
      return false;
    }
  }

  #unsubscribeIfNeeded(): void {
    try {
      this.#unsubscribe?.();
    } catch {
      // Whatever still comes finds nobody that waits.
    }
    this.#unsubscribe = null;
  }

  /** A hint that the lock may be free. */
  #notice(): void {
    if (this.#attempt !== null) {
      this.#noticed = true;
    } else if (this.#rest !== null && !this.standing) {
      this.#react();
    }
  }

  /** The lock is free, or was a moment ago. */
  #react(): void {
    if (this.#letPass === 0) {
      this.#line.goOn();
      return;
    }
    this.#endRest();
    this.#pause(COURTESY * this.#letPass--);
  }

  #pause(ms: number): void {
    this.#rest = this.#context.clock.setTimeout(
      () => this.#line.goOn(),
      Math.max(1, Math.ceil(ms)),
    );
  }

  #wake(): void {
    this.standing = false;
    this.#noticed = false;
    this.#endRest();
  }

  #endRest(): void {
    if (this.#rest !== null) {
      this.#context.clock.clearTimeout(this.#rest);
      this.#rest = null;
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
