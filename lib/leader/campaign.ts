import { Observable, Subject } from 'rxjs';
import type { AcquireSettings } from '../core/acquire-settings.js';
import { currentHandle, runOutsideFrames } from '../core/frames.js';
import type { LockEngine } from '../core/lock-engine.js';
import type { EngineHandle, KeyHandle } from '../core/lock-handle.js';
import { LockAbortedError } from '../errors/lock-aborted.error.js';
import { LockClosedError } from '../errors/lock-closed.error.js';
import { LockDriverError } from '../errors/lock-driver.error.js';
import { LockLostError } from '../errors/lock-lost.error.js';
import { LockTimeoutError } from '../errors/lock-timeout.error.js';
import type {
  DeposedChange,
  ElectedChange,
  Leadership,
  LeadershipChange,
} from '../interfaces/leader-election.interface.js';
import type { LeaderLogger } from './leader.logger.js';
import { Term } from './term.js';

/** What a campaign is told by, before anybody else. */
export interface TermListener {
  elected?(term: Term): void;
  deposed?(term: Term, change: DeposedChange): void;
}

/** What a campaign is made of. */
export interface CampaignParts {
  readonly name: string;
  readonly nodeId: string;
  readonly key: string;
  readonly engine: LockEngine;
  readonly settings: AcquireSettings;
  readonly logger: LeaderLogger;
}

/**
 * Stands for election again and again, until it resigns: it waits for the leader's lock as everybody waits for a lock,
 * serves for as long as it is held, and stands again when it was lost.
 */
export class Campaign implements Leadership {
  readonly name: string;
  readonly nodeId: string;
  readonly changes$: Observable<LeadershipChange>;
  readonly #key: string;
  readonly #engine: LockEngine;
  readonly #settings: AcquireSettings;
  readonly #logger: LeaderLogger;
  readonly #changes = new Subject<LeadershipChange>();
  /** What subscribers were told of the present term. */
  #told: ElectedChange | null = null;
  readonly #listeners: TermListener[] = [];
  readonly #resignation = new AbortController();
  readonly #ended: Promise<void>;
  #term: Term | null = null;
  #isOver = false;

  constructor({ name, nodeId, key, engine, settings, logger }: CampaignParts) {
    this.name = name;
    this.nodeId = nodeId;
    this.#key = key;
    this.#engine = engine;
    this.#settings = { ...settings, signal: this.#resignation.signal };
    this.#logger = logger;
    this.changes$ = new Observable((subscriber) => {
      if (this.#told !== null) {
        subscriber.next(this.#told);
      }
      return this.#changes.subscribe(subscriber);
    });
    // It belongs to the process, whoever calls for it: it must not count as work under the caller's locks.
    this.#ended = runOutsideFrames(() => this.#run());
  }

  get isLeader(): boolean {
    return this.#term?.isLive ?? false;
  }

  get fencingToken(): bigint {
    if (this.#term === null) {
      throw this.#notElected();
    }
    return this.#term.fencingToken;
  }

  get signal(): AbortSignal {
    // Looks at the clock: what begins after a pause must not get a signal that has yet to abort.
    this.#term?.handle.lostError();
    return this.#term?.signal ?? AbortSignal.abort(this.#notElected());
  }

  /** The present term, if it certainly goes on. */
  get term(): Term | null {
    return this.isLeader ? this.#term : null;
  }

  /** Whether it will not stand again. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Tells of terms as they begin and end, in the middle of that: a listener must not do more than take note. */
  listen(listener: TermListener): void {
    this.#listeners.push(listener);
    if (this.term !== null) {
      listener.elected?.(this.term);
    }
  }

  resign(): Promise<void> {
    const mustNotWait = this.#isOwnWork;
    this.#isOver = true;
    this.#resignation.abort('resigned');
    this.#term?.resign();
    return mustNotWait ? Promise.resolve() : this.#ended;
  }

  /** Whether what calls runs under the present term: the seat is given back when it has ended, and not before. */
  get #isOwnWork(): boolean {
    return currentHandle((handle) => handle === this.#term?.handle) !== undefined;
  }

  async #run(): Promise<void> {
    try {
      while (!this.#isOver) {
        const handle = await this.#stand();
        if (handle !== null) {
          await this.#serve(handle);
        }
      }
    } catch (error) {
      this.#isOver = true;
      this.#giveUp();
      this.#logger.campaignFailed(this, error);
    }
    this.#isOver = true;
    this.#later(() => this.#changes.complete());
  }

  /** Waits for the seat; null if it was not to be had this time. */
  async #stand(): Promise<KeyHandle | null> {
    try {
      return await this.#engine.acquire(this.#key, this.#settings);
    } catch (error) {
      if (error instanceof LockDriverError) {
        this.#logger.cannotStand(this, error);
        return null;
      }
      if (error instanceof LockTimeoutError) {
        return null;
      }
      if (error instanceof LockAbortedError || error instanceof LockClosedError) {
        this.#isOver = true;
        return null;
      }
      throw error;
    }
  }

  /** Until the term has ended and, if it was the leader's will, the seat has been given back. */
  async #serve(handle: KeyHandle): Promise<void> {
    const { name, nodeId } = this;
    const term = new Term({ name, nodeId, engine: this.#engine }, handle);
    if (this.#isOver || !term.isLive) {
      await handle.release();
      return;
    }
    this.#term = term;
    const ended = new Promise<void>((resolve) => {
      term.signal.addEventListener('abort', () => resolve(this.#deposed(term)), { once: true });
    });
    this.#elected(term);
    await ended;
    // What still runs keeps the seat, as long as the lock lasts: nothing is released under a running body.
    const givenBack = term.settled().then(() => handle.release());
    await Promise.race([givenBack, lossOf(handle)]);
  }

  /** Nobody is to lead by mistake for ever. */
  #giveUp(): void {
    const term = this.#term;
    term?.resign();
    void term?.settled().then(() => term.handle.release());
  }

  #elected(term: Term): void {
    const { name, nodeId } = this;
    const { fencingToken } = term.handle;
    this.#logger.elected(this, fencingToken);
    this.#listeners.forEach((listener) => listener.elected?.(term));
    this.#later(() => this.#tell({ name, nodeId, isLeader: true, fencingToken }));
  }

  #deposed(term: Term): void {
    const { name, nodeId } = this;
    const error = term.error ?? this.#notElected();
    const change: DeposedChange = { name, nodeId, isLeader: false, reason: error.reason };
    this.#logger.deposed(this, error);
    this.#listeners.forEach((listener) => listener.deposed?.(term, change));
    this.#later(() => this.#tell(change));
  }

  #tell(change: LeadershipChange): void {
    this.#told = change.isLeader ? change : null;
    this.#changes.next(change);
  }

  /** A subscriber that takes locks must not find the engine half way through a change. */
  #later(tell: () => void): void {
    queueMicrotask(tell);
  }

  #notElected(): LockLostError {
    return new LockLostError({ keys: [this.#key], reason: 'notElected' });
  }
}

function lossOf({ signal }: Pick<EngineHandle, 'signal'>): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
    if (signal.aborted) {
      resolve();
    }
  });
}
