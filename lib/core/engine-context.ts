import type { LockDriver } from '../interfaces/lock-driver.interface.js';
import type { Duration } from '../interfaces/lock-options.interface.js';
import type { AbortWatch } from './abort-watch.js';
import type { Clock } from './clock.js';
import type { Attempt } from './attempt.js';
import type { Disowner } from './disown.js';
import type { DueLists, DueRole } from './due-lists.js';
import type { LockEvents } from './lock-events.js';
import type { Owners } from './owners.js';
import type { Pacer } from './pacer.js';
import type { Releasing } from './releasing.js';
import type { RenewalScheduler } from './renewal.scheduler.js';
import type { RoundTrip } from './round-trip.js';
import type { MaxHold } from './turn.js';
import type { Waiter } from './waiter-queue.js';

/** What the parts of one engine share. */
export interface EngineContext {
  readonly driver: LockDriver;
  readonly clock: Clock;
  readonly random: () => number;
  readonly events: LockEvents;
  readonly clockSkew: number;
  /** For how long waiters of this process may follow one another under one lease. */
  readonly handoverMaxTime: number;
  readonly parseTtl: (ttl: Duration) => number;
  readonly lists: DueLists;
  readonly aborts: AbortWatch;
  readonly waits: DueRole<Waiter>;
  readonly attempts: DueRole<Attempt>;
  /** Releases that have not been answered yet; a set of them would cost more than all the rest of a release. */
  readonly releases: DueRole<Releasing>;
  readonly maxHolds: DueRole<MaxHold>;
  readonly renewals: RenewalScheduler;
  readonly disowner: Disowner;
  readonly owners: Owners;
  readonly pacer: Pacer;
  readonly roundTrip: RoundTrip;
  /** Nobody holds, waits for or tries to get the key any more. */
  lineIdle(): void;
}
