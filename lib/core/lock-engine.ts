import { LockAbortedError } from '../errors/lock-aborted.error.js';
import { LockDeadlockError } from '../errors/lock-deadlock.error.js';
import { LockTimeoutError } from '../errors/lock-timeout.error.js';
import type { LockDriver, MaybePromise } from '../interfaces/lock-driver.interface.js';
import type { LockHandle } from '../interfaces/lock-handle.interface.js';
import type { Duration } from '../interfaces/lock-options.interface.js';
import { AbortWatch } from './abort-watch.js';
import type { AcquireSettings } from './acquire-settings.js';
import type { Attempt } from './attempt.js';
import { type Clock, systemClock } from './clock.js';
import { Disowner } from './disown.js';
import { DueLists } from './due-lists.js';
import type { EngineContext } from './engine-context.js';
import { currentHandle, currentHold, inFrame, isUnderLock, runInFrame } from './frames.js';
import type { Hold } from './hold.js';
import { Lines } from './lines.js';
import type { LockEvents } from './lock-events.js';
import type { EngineHandle, KeyHandle } from './lock-handle.js';
import { lostErrorOf } from './lost-error.js';
import { isPending } from './maybe-promise.js';
import { Owners } from './owners.js';
import { Pacer } from './pacer.js';
import type { Releasing } from './releasing.js';
import { RenewalScheduler } from './renewal.scheduler.js';
import { RoundTrip } from './round-trip.js';
import { acquireSeveral } from './several-keys.js';
import { closedError, Shutdown } from './shutdown.js';
import type { MaxHold } from './turn.js';
import type { Claim, Waiter } from './waiter-queue.js';

/** What an engine is made of. */
export interface EngineOptions {
  readonly driver: LockDriver;
  /** Names this process in owners. */
  readonly node: string;
  readonly events: LockEvents;
  /** Milliseconds by which a lease is believed to end earlier. */
  readonly clockSkew: number;
  /** Milliseconds for which waiters of this process may follow one another under one lease. */
  readonly handoverMaxTime: number;
  /** Reads and checks the ttl given to `extend`. */
  readonly parseTtl: (ttl: Duration) => number;
  /** @default systemClock */
  readonly clock?: Clock;
  /** @default Math.random */
  readonly random?: () => number;
}

/** Takes, keeps and gives back the locks of one process at one driver. It knows neither Nest nor any driver. */
export class LockEngine {
  readonly #context: EngineContext;
  readonly #lines: Lines;
  readonly #shutdown: Shutdown;

  constructor(options: EngineOptions) {
    const {
      driver,
      events,
      clockSkew,
      handoverMaxTime,
      parseTtl,
      clock = systemClock,
      random = Math.random,
    } = options;
    const lists = new DueLists(clock, random);
    this.#context = {
      driver,
      clock,
      random,
      events,
      clockSkew,
      handoverMaxTime,
      parseTtl,
      lists,
      aborts: new AbortWatch(),
      waits: lists.role<Waiter>((waiter, now) => waiter.timedOut(now)),
      attempts: lists.role<Attempt>((attempt) => attempt.timedOut()),
      releases: lists.role<Releasing>((releasing) => releasing.timedOut()),
      maxHolds: lists.role<MaxHold>(({ turn }) => turn.maxHoldOver()),
      renewals: new RenewalScheduler(driver, clock, events, lists),
      disowner: new Disowner(driver, clock),
      owners: new Owners(options.node),
      pacer: new Pacer(clock),
      roundTrip: new RoundTrip(),
      lineIdle: () => this.#lines.becameIdle(),
    };
    this.#lines = new Lines(this.#context);
    this.#shutdown = new Shutdown(this.#context, this.#lines);
  }

  /** Takes one key: at once where line and driver allow, else by a promise. Throws or rejects with a `LockError`. */
  acquire(key: string, settings: AcquireSettings): MaybePromise<KeyHandle> {
    return this.#acquire(key, settings, null);
  }

  /** Takes several keys, given without duplicates and in one order everywhere: all of them or none. */
  acquireAll(keys: readonly string[], settings: AcquireSettings): Promise<EngineHandle> {
    const { clock } = this.#context;
    return acquireSeveral(keys, settings, clock, (key, each, since) =>
      this.#acquire(key, each, since),
    );
  }

  #acquire(key: string, settings: AcquireSettings, since: number | null): MaybePromise<KeyHandle> {
    const { pacer } = this.#context;
    let handle: MaybePromise<KeyHandle>;
    try {
      handle = this.#take(key, settings, since);
    } catch (error) {
      if (!pacer.mustYield) {
        throw error;
      }
      // A caller that tries in a loop must not keep the holder from ever getting on.
      return new Promise((_, reject) => pacer.afterYield(() => reject(error)));
    }
    if (isPending(handle) || !pacer.mustYield) {
      return handle;
    }
    return new Promise((resolve) => pacer.afterYield(() => resolve(handle)));
  }

  #take(key: string, settings: AcquireSettings, since: number | null): MaybePromise<KeyHandle> {
    if (settings.signal?.aborted) {
      throw new LockAbortedError(`The caller's signal had aborted before ${key} was asked for`, {
        keys: [key],
        cause: settings.signal.reason,
      });
    }
    let nested = false;
    if (inFrame()) {
      const now = this.#context.clock.now();
      const hold = currentHold(key, this.#context, now);
      if (hold !== null) {
        return this.#join(hold, { settings, since, nested: true }, now);
      }
      nested = isUnderLock(this.#context);
    }
    if (this.#shutdown.closed && !nested) {
      throw closedError(key);
    }
    const claim = { settings, since, nested };
    const line = this.#lines.of(key);
    if (!line.isIdle) {
      return line.enter(claim);
    }
    this.#lines.opened();
    return line.open(claim);
  }

  #join(hold: Hold, claim: Claim, now: number): MaybePromise<KeyHandle> {
    if (claim.settings.reentrant) {
      return hold.admit(claim, now);
    }
    const { key, owner } = hold.turn.lease;
    throw claim.settings.wait === 0
      ? new LockTimeoutError({ keys: [key], owner, waited: 0 })
      : new LockDeadlockError(
          `${key} is held by the caller itself and reentrant is false: it would wait for ever`,
          {
            keys: [key],
          },
        );
  }

  /** Runs `work` under a lock, once it is there, and releases it; rejects with `LockLostError` if it was lost meanwhile. */
  async run<T>(
    taken: MaybePromise<EngineHandle>,
    work: (lock: LockHandle) => MaybePromise<T>,
  ): Promise<T> {
    const handle = isPending(taken) ? await taken : taken;
    try {
      throwIfLost(handle);
      const result = await runInFrame(handle, work);
      throwIfLost(handle);
      return result;
    } catch (error) {
      throwIfLost(handle, error);
      throw error;
    } finally {
      const closed = handle.close();
      if (isPending(closed)) {
        await closed;
      }
    }
  }

  /** Runs `work` as if it were called from under the handle, and leaves the handle held. */
  runUnder<T>(handle: EngineHandle, work: (lock: LockHandle) => T): T {
    return runInFrame(handle, work);
  }

  /** The handle of this engine that the calling async context holds: the innermost, or the innermost on `key`. */
  current(key?: string): LockHandle | undefined {
    return currentHandle(
      (handle) => handle.isOf(this.#context) && (key === undefined || handle.keys.includes(key)),
    );
  }

  /** Frees the key whoever holds it; who holds it here is told that it is lost. */
  async forceRelease(key: string): Promise<boolean> {
    this.#lines.find(key)?.lose('forced');
    return this.#context.driver.forceRelease(key);
  }

  /** Waits, at most so many milliseconds, for what is held now; locks are still granted meanwhile. */
  drain(timeout: number): Promise<void> {
    return this.#shutdown.drain(timeout);
  }

  /** Grants nothing more, gives what is held the rest of the drain time, and then gives it up for lost. */
  stop(): Promise<void> {
    return this.#shutdown.stop();
  }
}

function throwIfLost(handle: EngineHandle, error?: unknown): void {
  const lost = lostErrorOf(handle, error);
  if (lost !== null) {
    throw lost;
  }
}
