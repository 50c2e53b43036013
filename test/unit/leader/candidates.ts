import { MemoryLockDriver } from '../../../lib/drivers/memory/memory-lock.driver.js';
import type {
  LockDriver,
  MaybePromise,
  RenewRequest,
  RenewResult,
} from '../../../lib/interfaces/lock-driver.interface.js';
import type { CampaignOptions } from '../../../lib/interfaces/leader-election.interface.js';
import { LeaderElection } from '../../../lib/leader/leader-election.js';
import { LockService } from '../../../lib/lock.service.js';

/** How one process sees a backend that it shares with others. */
export class Connection implements LockDriver {
  readonly name = 'shared';
  /** The renewals that it has sent, by time. */
  readonly renewals: { readonly at: number; readonly bumps: boolean }[] = [];
  /** Whether the backend hears nothing of it any more. */
  isCut = false;
  readonly #backend: MemoryLockDriver;

  constructor(backend: MemoryLockDriver) {
    this.#backend = backend;
  }

  acquire: LockDriver['acquire'] = (request) => this.#through(() => this.#backend.acquire(request));
  release: LockDriver['release'] = (request) => this.#through(() => this.#backend.release(request));
  inspect: LockDriver['inspect'] = (key) => this.#through(() => this.#backend.inspect(key));
  list: LockDriver['list'] = (request) => this.#through(() => this.#backend.list(request));
  forceRelease: LockDriver['forceRelease'] = (key) =>
    this.#through(() => this.#backend.forceRelease(key));
  onReleased: NonNullable<LockDriver['onReleased']> = (key, listener) =>
    this.#backend.onReleased(key, listener);

  renew(leases: readonly RenewRequest[]): MaybePromise<readonly RenewResult[]> {
    const bumps = leases.some(({ bumpToken }) => bumpToken !== undefined);
    this.renewals.push({ at: performance.now(), bumps });
    return this.#through(() => this.#backend.renew(leases));
  }

  /** A connection that is cut does not even answer. */
  #through<T>(ask: () => T): MaybePromise<T> {
    return this.isCut ? new Promise<T>(() => undefined) : ask();
  }
}

/** A process that may stand for election, on a backend that it shares with others. */
export class Candidate {
  readonly connection: Connection;
  readonly locks: LockService;
  readonly election: LeaderElection;

  constructor(backend: MemoryLockDriver, node: string, leader: CampaignOptions = {}) {
    this.connection = new Connection(backend);
    this.locks = new LockService({ driver: this.connection, node, leader });
    this.election = LeaderElection.of(this.locks);
  }

  async end(): Promise<void> {
    await Promise.all([this.election[Symbol.asyncDispose](), this.locks[Symbol.asyncDispose]()]);
  }
}
