import type { LockLostReason } from '../errors/lock-lost.error.js';
import { LockQueueFullError } from '../errors/lock-queue-full.error.js';
import { LockTimeoutError } from '../errors/lock-timeout.error.js';
import type { LockError } from '../errors/lock.error.js';
import type {
  Denial,
  Grant,
  MaybePromise,
  ReleaseResult,
} from '../interfaces/lock-driver.interface.js';
import type { AcquireSettings } from './acquire-settings.js';
import { askFor, type Attempt, isGrant } from './attempt.js';
import { Contender } from './contender.js';
import type { EngineContext } from './engine-context.js';
import { mayHandOver } from './handover.js';
import { Lease, type LeaseKeeper } from './lease.js';
import { KeyHandle } from './lock-handle.js';
import { type Answer, isPending } from './maybe-promise.js';
import { releaseLease } from './releasing.js';
import { Run } from './run.js';
import { Turn, type TurnKeeper } from './turn.js';
import { type Claim, Waiter, WaiterQueue, type WaitingPlace } from './waiter-queue.js';

/**
 * One key in this process: who holds it here, who waits for it here, and the lease that the backend gave for it.
 * However many wait, only the line's contender talks to the backend.
 */
export class Line implements LeaseKeeper, TurnKeeper, WaitingPlace {
  readonly key: string;
  readonly #context: EngineContext;
  #state: 'idle' | 'contending' | 'held' | 'releasing' = 'idle';
  #turn: Turn | null = null;
  #lease: Lease | null = null;
  /** Made when a second caller wants the key while it is held here. */
  #run: Run | null = null;
  #waiters: WaiterQueue | null = null;
  #contender: Contender | null = null;

  constructor(context: EngineContext, key: string) {
    this.#context = context;
    this.key = key;
  }

  get waiters(): WaiterQueue {
    return (this.#waiters ??= new WaiterQueue());
  }

  /** The turn that is running now, if one is. */
  get turn(): Turn | null {
    return this.#turn;
  }

  /** Nobody holds the key here, waits for it, or stands back from it. */
  get isIdle(): boolean {
    return this.#state === 'idle';
  }

  get #head(): Waiter | null {
    return this.#waiters === null ? null : this.#waiters.first;
  }

  /**
   * The first caller of an idle line: the driver is asked at once, and one that answers at once costs no promise.
   * Everything but such a grant goes the way of all waiters.
   */
  open(claim: Claim): MaybePromise<KeyHandle> {
    const { clock, clockSkew, owners } = this.#context;
    const { settings } = claim;
    const sentAt = clock.now();
    const owner = (settings.term?.owners ?? owners).next();
    this.#state = 'contending';
    let answer;
    try {
      answer = askFor(this.#context, this.key, owner, settings, 0);
    } catch (error) {
      answer = Promise.reject(error);
    }
    if (!isPending(answer) && isGrant(answer)) {
      this.#begin(new Lease(this, { owner, settings, sentAt }, answer, clockSkew));
      return this.#startTurn(settings, sentAt, sentAt);
    }
    const waiter = new Waiter(this.#context, this, claim, sentAt);
    this.#contend().adopt(owner, settings, sentAt, answer);
    return waiter.promise;
  }

  /** A further caller: it waits its turn. `wait: 0` never jumps the line, and at most waits for a release under way. */
  enter(claim: Claim): MaybePromise<KeyHandle> {
    const now = this.#context.clock.now();
    const { wait, maxWaiters } = claim.settings;
    const waiting = this.#waiters?.size ?? 0;
    if (wait === 0 && (this.#state !== 'releasing' || waiting > 0)) {
      throw this.#busy(0);
    }
    if (wait > 0 && waiting >= maxWaiters) {
      throw new LockQueueFullError(`${waiting} wait for ${this.key} already (maxWaiters)`, {
        keys: [this.key],
      });
    }
    const waiter = new Waiter(this.#context, this, claim, now);
    this.#contender?.keepAlive();
    this.#context.events.waiting(this.key, waiting + 1);
    return waiter.promise;
  }

  #contend(): Contender {
    return (this.#contender ??= new Contender(this.#context, this));
  }

  /** The backend granted the lock to the line's contender: to its first waiter, if that still wants such a lease. */
  granted(attempt: Attempt, grant: Grant, now: number): void {
    const { clockSkew, disowner } = this.#context;
    const head = this.#head;
    const lease = new Lease(this, attempt, grant, clockSkew);
    if (
      head?.settings.ttl !== lease.ttl ||
      head.settings.autoExtend !== lease.autoExtend ||
      head.settings.term !== lease.term ||
      !lease.isHeld(now)
    ) {
      disowner.disownLease(this.key, lease.owner, lease.ttl);
      this.goOn();
      return;
    }
    this.#begin(lease);
    if (this.waiters.size === 1) {
      this.#endContention();
    }
    head.grant(this.#startTurn(head.settings, head.enteredAt, now));
  }

  /** Somebody else has the lock. Those who do not wait are told. */
  denied(tries: number): void {
    this.#run = null;
    this.#failImpatient();
    if (tries === 1 && this.#head !== null) {
      this.#context.events.waiting(this.key, this.waiters.size);
    }
  }

  /** The backend failed. Those who do not wait are told. */
  failed(): void {
    this.#failImpatient();
  }

  #failImpatient(): void {
    const head = this.#head;
    if (head?.settings.wait === 0) {
      head.fail(this.timeoutError(head, this.#context.clock.now()));
    }
  }

  /** The backend gave us the key. */
  #begin(lease: Lease): void {
    this.#lease = lease;
    this.#context.renewals.watch(lease);
  }

  #startTurn(settings: AcquireSettings, enteredAt: number, now: number): KeyHandle {
    const lease = this.#lease!;
    this.#state = 'held';
    const turn = new Turn(this.#context, lease, lease.takeToken(), settings, now, this);
    this.#turn = turn;
    this.#context.events.acquired(lease, turn.token, now - enteredAt);
    return new KeyHandle(turn.root);
  }

  turnOver(turn: Turn): Answer {
    const next = this.#head;
    if (next === null && !turn.hasMinHold) {
      return this.#release(turn, undefined);
    }
    const { clock, events } = this.#context;
    const now = clock.now();
    if (next !== null && mayHandOver(turn, next, this.#runOf(turn), now)) {
      events.released(turn.lease, turn.startedAt, clock, true);
      next.grant(this.#startTurn(next.settings, next.enteredAt, now));
      return true;
    }
    return this.#release(turn, turn.minHoldLeft(now));
  }

  #release(turn: Turn, retainFor: number | undefined): Answer {
    this.#state = 'releasing';
    this.#turn = null;
    this.#lease = null;
    const { clock, events } = this.#context;
    events.released(turn.lease, turn.startedAt, clock, false);
    return releaseLease(this.#context, turn.lease, retainFor, (result) =>
      this.#released(turn, result),
    );
  }

  #released(turn: Turn, result: ReleaseResult | null): boolean {
    this.#state = 'contending';
    const standBackFor = this.#wantedAtEndOfRun(turn, result?.wantedFor ?? 0);
    if (standBackFor > 0) {
      this.#failImpatient();
      this.#contend().standBack(standBackFor, result?.wantedBy);
    } else {
      this.goOn();
    }
    return result?.released ?? false;
  }

  /** For how long others still want the lock, if nobody waits here or the run has lasted for long enough; else 0. */
  #wantedAtEndOfRun(turn: Turn, wantedFor: number): number {
    if (wantedFor === 0 && this.#run === null) {
      return 0;
    }
    const now = this.#context.clock.now();
    const run = this.#runOf(turn);
    if (wantedFor > 0) {
      run.wanted(wantedFor, now);
    }
    if (this.#head !== null && !run.isOver(now)) {
      return 0;
    }
    this.#run = null;
    return run.wantedFor(now);
  }

  /** The run that the turn belongs to; it began with it unless there was one before. */
  #runOf({ startedAt }: Turn): Run {
    return (this.#run ??= new Run(startedAt, this.#context.handoverMaxTime));
  }

  /** Nobody here has the key, or stands back from it: the next waiter contends, or the line is idle. */
  goOn(): void {
    if (this.#state !== 'contending') {
      return;
    }
    if (this.#head !== null) {
      this.#contend().try();
    } else {
      this.#becomeIdle();
    }
  }

  #becomeIdle(): void {
    this.#endContention();
    this.#run = null;
    this.#state = 'idle';
    this.#context.lineIdle();
  }

  #endContention(): void {
    this.#contender?.stop();
    this.#contender = null;
  }

  /** Loss hits the turn that runs; those who wait contend anew. What still runs is not released under its feet. */
  leaseLost(lease: Lease, reason: LockLostReason): void {
    if (this.#lease !== lease) {
      return;
    }
    const turn = this.#turn!;
    this.#context.renewals.forget(lease);
    this.#lease = null;
    this.#turn = null;
    this.#state = 'contending';
    this.#run = null;
    const error = turn.lose(reason);
    this.#context.events.lost(lease, error);
    this.goOn();
  }

  /** The running turn is lost for a reason that is not the backend's. */
  lose(reason: LockLostReason): void {
    if (this.#lease !== null) {
      this.leaseLost(this.#lease, reason);
    }
  }

  lostTurnSettled(turn: Turn): void {
    const { clock, disowner } = this.#context;
    const { key, owner, ttl } = turn.lease;
    disowner.disownLease(key, owner, ttl, turn.minHoldLeft(clock.now()));
  }

  leaseGoesOn(lease: Lease, now: number): void {
    const turn = this.#turn!;
    if (turn.isHeldLong(now)) {
      this.#context.events.heldLong(lease, now - turn.startedAt);
    }
  }

  tokenRaised(lease: Lease, token: number): void {
    if (this.#lease === lease) {
      this.#turn!.token = token;
    }
  }

  timeoutError(waiter: Waiter, now: number): LockError {
    const waited = now - waiter.enteredAt;
    const failure =
      this.#state === 'contending' ? this.#contender?.failure(waiter.enteredAt, now) : null;
    return failure ?? this.#busy(waited);
  }

  waiterLeft(): void {
    if (this.#head !== null) {
      return;
    }
    if (this.#contender?.standing) {
      this.#contender.letGo();
    } else if (this.#state === 'contending') {
      this.#becomeIdle();
    } else {
      this.#endContention();
    }
  }

  /** Shutting down: whoever waits is told, except those that `spares` lets go on. */
  close(error: LockError, spares: (waiter: Waiter) => boolean): void {
    this.#waiters?.failAll((waiter) => (spares(waiter) ? null : error));
    if (this.#head !== null) {
      return;
    }
    if (this.#state === 'contending') {
      this.#becomeIdle();
    } else {
      this.#endContention();
    }
  }

  #busy(waited: number): LockTimeoutError {
    const holder: Denial = this.#lease ?? this.#contender?.denial ?? {};
    const { owner, retryAfter } = holder;
    this.#context.events.busy(this.key, waited, owner);
    return new LockTimeoutError({ keys: [this.key], owner, waited, retryAfter });
  }
}
