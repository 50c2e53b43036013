import { LockDriverError } from '../errors/lock-driver.error.js';
import type { LockDriver, RenewRequest, RenewResult } from '../interfaces/lock-driver.interface.js';
import type { Clock } from './clock.js';
import { cancel, type DueLists, type DueRole } from './due-lists.js';
import type { Lease } from './lease.js';
import type { LockEvents } from './lock-events.js';
import { isPending } from './maybe-promise.js';

/** More leases than this are renewed in several calls. */
const BATCH_SIZE = 1000;

/** Leases that fall due within so much of the time since their last renewal are renewed together. */
const SLACK = 1 / 20;

/** Renewals of one list come early by up to so much of that time, so that replicas do not renew in step. */
const JITTER = 1 / 20;

/** A renewal that is on its way: what it asks for, and how the lease stood when it was sent. */
interface Renewal {
  readonly lease: Lease;
  readonly request: RenewRequest;
  readonly sureTtl: number;
  readonly epoch: number;
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
    if (lease.mayRenew) {
      this.#renewals.schedule(lease, lease.dueNext, lease.span);
    } else {
      this.#deadlines.schedule(lease, lease.deadline, lease.ttl);
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
    const { key, owner } = lease;
    const request = shorten ? { key, owner, ttl, shorten } : { key, owner, ttl };
    const renewal = renewalOf(lease, request, sentAt);
    try {
      const results: unknown = await this.#driver.renew([request]);
      const result: unknown = Array.isArray(results) ? results[0] : results;
      if (!isResult(result)) {
        throw this.#failureOf(result, key);
      }
      this.#answeredOne(renewal, result);
      if (lease.state !== 'ended') {
        lease.keeper.leaseGoesOn(lease, this.#clock.now());
      }
      return result.renewed;
    } catch (error) {
      this.#doubt(renewal, error);
      throw error;
    }
  }

  #renewalDue(lease: Lease, now: number): void {
    if (!lease.isHeld(now)) {
      lease.keeper.leaseLost(lease, 'expired');
      return;
    }
    if (lease.isUnanswered) {
      const error = new LockDriverError('A renewal has not been answered', { keys: [lease.key] });
      this.#doubt({ lease, sentAt: now }, error);
    }
    lease.nextTry(now);
    this.watch(lease);
    this.#collected.push(lease);
    lease.keeper.leaseGoesOn(lease, now);
  }

  #flush(): void {
    const leases = this.#collected;
    this.#collected = [];
    for (let start = 0; start < leases.length; start += BATCH_SIZE) {
      const batch = leases.slice(start, start + BATCH_SIZE);
      // Whoever was told of a loss in the batch before may have released something of this one.
      this.#send(batch.filter((lease) => lease.state !== 'ended'));
    }
  }

  #send(leases: readonly Lease[]): void {
    const sentAt = this.#clock.now();
    const renewals = leases.map((lease) => {
      const { key, owner, ttl } = lease;
      const request = { key, owner, ttl };
      return renewalOf(
        lease,
        lease.isTokenDue(sentAt) ? { ...request, bumpToken: 1 } : request,
        sentAt,
      );
    });
    if (renewals.length === 0) {
      return;
    }
    try {
      const answer = this.#driver.renew(renewals.map(({ request }) => request));
      if (isPending(answer)) {
        answer.then(
          (results) => this.#answered(renewals, results),
          (error: unknown) => this.#failed(renewals, error),
        );
      } else {
        this.#answered(renewals, answer);
      }
    } catch (error) {
      this.#failed(renewals, error);
    }
  }

  #answered(renewals: readonly Renewal[], results: readonly (RenewResult | Error)[]): void {
    if (!Array.isArray(results)) {
      this.#failed(renewals, this.#rubbish(results));
      return;
    }
    renewals.forEach((renewal, i) => this.#answeredOne(renewal, results[i]));
  }

  #answeredOne(renewal: Renewal, result: unknown): void {
    const { lease, request, sureTtl, epoch, sentAt } = renewal;
    if (lease.state === 'ended') {
      return;
    }
    if (!isResult(result)) {
      this.#doubt(renewal, this.#failureOf(result, lease.key));
    } else if (result.renewed) {
      if (request.shorten) {
        lease.shortened(epoch);
      }
      lease.confirm(sentAt, sureTtl, epoch);
      this.watch(lease);
      if (request.bumpToken !== undefined && result.firstToken !== undefined) {
        lease.raiseToken(result.firstToken, sentAt);
      }
      this.#events.renewed(lease);
    } else {
      lease.keeper.leaseLost(lease, 'taken');
    }
  }

  #failed(renewals: readonly Renewal[], error: unknown): void {
    for (const renewal of renewals) {
      this.#doubt(renewal, error);
    }
  }

  /** Not knowing is not losing: the lease stands until its deadline, and the next try may settle it. */
  #doubt({ lease, sentAt }: Pick<Renewal, 'lease' | 'sentAt'>, cause: unknown): void {
    if (lease.doubt(sentAt)) {
      this.#events.unknown(lease, 'renew', cause, lease.remaining(this.#clock.now()));
    }
  }

  #failureOf(answer: unknown, key: string): Error {
    return answer instanceof Error ? answer : this.#rubbish(answer, [key]);
  }

  #rubbish(answer: unknown, keys: readonly string[] = []): LockDriverError {
    const what = `The ${this.#driver.name} driver answered a renewal with ${String(answer)}`;
    return new LockDriverError(what, { keys });
  }
}

function renewalOf(lease: Lease, request: RenewRequest, sentAt: number): Renewal {
  return { lease, request, sureTtl: lease.sureTtl(request.ttl), epoch: lease.epoch, sentAt };
}

function isResult(result: unknown): result is RenewResult {
  return typeof (result as RenewResult | null | undefined)?.renewed === 'boolean';
}
