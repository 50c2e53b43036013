import { LockDriverError } from '../errors/lock-driver.error.js';
import type { LockDriver, RenewRequest, RenewResult } from '../interfaces/lock-driver.interface.js';
import type { Clock } from './clock.js';
import { cancel, type DueLists, type DueRole } from './due-lists.js';
import { LAST_STEP, type Lease } from './lease.js';
import type { LockEvents } from './lock-events.js';
import { isPending } from './maybe-promise.js';

/** More leases than this are renewed in several calls. */
const BATCH_SIZE = 1000;

/** Leases that fall due within so much of the time since their last renewal are renewed together. */
const SLACK = 1 / 20;

/** Renewals of one list come early by up to so much of that time, so that replicas do not renew in step. */
const JITTER = 1 / 10;

/** Renewals that are on their way: what they asked for, and how the leases stood when they were sent. */
interface Batch {
  readonly leases: readonly Lease[];
  readonly requests: readonly RenewRequest[];
  readonly epochs: readonly number[];
  readonly sentAt: number;
}

/**
 * Renews all leases of an engine: at two sixths of their life and, while no answer comes, at three, four and five.
 * At the deadline a lease is lost, whatever is still under way.
 */
export class RenewalScheduler {
  readonly #driver: LockDriver;
  readonly #clock: Clock;
  readonly #events: LockEvents;
  readonly #renewals: DueRole<Lease>;
  readonly #deadlines: DueRole<Lease>;
  #collected: Lease[] = [];

  constructor(driver: LockDriver, clock: Clock, events: LockEvents, lists: DueLists) {
    this.#driver = driver;
    this.#clock = clock;
    this.#events = events;
    this.#renewals = lists.role<Lease>((lease, now) => this.#renewalDue(lease, now), {
      slack: SLACK,
      jitter: JITTER,
    });
    this.#deadlines = lists.role<Lease>((lease) => lease.keeper.leaseLost(lease, 'expired'));
    lists.afterSweep(() => this.#flush());
  }

  /** Schedules what comes next in the lease's life. */
  watch(lease: Lease): void {
    const span = (lease.ttl * lease.step) / LAST_STEP;
    const renewAt = lease.confirmedAt + span;
    if (!lease.autoExtend || lease.step === LAST_STEP || renewAt >= lease.deadline) {
      this.#deadlines.schedule(lease, lease.deadline, lease.ttl);
    } else {
      this.#renewals.schedule(lease, renewAt, span);
    }
  }

  /** Ends the lease here: it is not renewed again, and answers still under way change nothing. */
  forget(lease: Lease): void {
    lease.end();
    cancel(lease);
  }

  /** Renews a lease now, on behalf of its holder; resolves to whether it is still ours, rejects if that is unknown. */
  async extend(lease: Lease, ttl: number): Promise<boolean> {
    const sentAt = this.#clock.now();
    const shorten = lease.retime(ttl, sentAt);
    this.watch(lease);
    const request = { key: lease.key, owner: lease.owner, ttl, ...(shorten && { shorten }) };
    const batch = { leases: [lease], requests: [request], epochs: [lease.epoch], sentAt };
    try {
      const results = await this.#driver.renew(batch.requests);
      this.#answered(batch, results);
      return results[0]!.renewed;
    } catch (error) {
      this.#doubt(lease, error);
      throw error;
    }
  }

  #renewalDue(lease: Lease, now: number): void {
    if (!lease.isHeld(now)) {
      lease.keeper.leaseLost(lease, 'expired');
      return;
    }
    if (lease.step > 2) {
      this.#doubt(
        lease,
        new LockDriverError('A renewal has not been answered', { keys: [lease.key] }),
      );
    }
    do {
      lease.step++;
    } while (
      lease.step < LAST_STEP &&
      lease.confirmedAt + (lease.ttl * lease.step) / LAST_STEP <= now
    );
    this.watch(lease);
    this.#collected.push(lease);
    lease.keeper.leaseGoesOn(lease, now);
  }

  #flush(): void {
    const leases = this.#collected.filter((lease) => lease.state !== 'ended');
    this.#collected = [];
    for (let start = 0; start < leases.length; start += BATCH_SIZE) {
      this.#send(leases.slice(start, start + BATCH_SIZE));
    }
  }

  #send(leases: readonly Lease[]): void {
    const batch: Batch = {
      leases,
      requests: leases.map(({ key, owner, ttl }) => ({ key, owner, ttl })),
      epochs: leases.map((lease) => lease.epoch),
      sentAt: this.#clock.now(),
    };
    try {
      const answer = this.#driver.renew(batch.requests);
      if (isPending(answer)) {
        answer.then(
          (results) => this.#answered(batch, results),
          (error: unknown) => this.#failed(batch, error),
        );
      } else {
        this.#answered(batch, answer);
      }
    } catch (error) {
      this.#failed(batch, error);
    }
  }

  #answered(batch: Batch, results: readonly RenewResult[]): void {
    if (!Array.isArray(results)) {
      return this.#failed(
        batch,
        new LockDriverError(
          `The ${this.#driver.name} driver answered a renewal with ${typeof results}`,
        ),
      );
    }
    batch.leases.forEach((lease, i) => {
      const result = results[i] as RenewResult | undefined;
      if (lease.state === 'ended') {
        return;
      }
      if (result === undefined) {
        this.#doubt(
          lease,
          new LockDriverError(`The ${this.#driver.name} driver left out an answer`, {
            keys: [lease.key],
          }),
        );
      } else if (result.renewed) {
        this.#confirm(lease, batch, i);
      } else {
        lease.keeper.leaseLost(lease, 'taken');
      }
    });
  }

  #confirm(lease: Lease, batch: Batch, i: number): void {
    lease.confirm(batch.sentAt, batch.requests[i]!.ttl, batch.epochs[i]!);
    this.watch(lease);
    this.#events.renewed(lease);
  }

  #failed(batch: Batch, error: unknown): void {
    for (const lease of batch.leases) {
      this.#doubt(lease, error);
    }
  }

  /** Not knowing is not losing: the lease stands until its deadline, and the next try may settle it. */
  #doubt(lease: Lease, cause: unknown): void {
    if (lease.doubt()) {
      this.#events.unknown(lease, 'renew', cause, lease.remaining(this.#clock.now()));
    }
  }
}
