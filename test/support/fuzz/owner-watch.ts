import type { EngineHandle } from '../../../lib/core/lock-handle.js';
import type { MemoryLockDriver } from '../../../lib/drivers/memory/memory-lock.driver.js';
import type {
  AcquireRequest,
  ReleaseRequest,
  RenewRequest,
} from '../../../lib/interfaces/lock-driver.interface.js';
import type { DriverWatch } from '../chaos-driver.js';

const idOf = (key: string, owner: string): string => `${key}|${owner}`;

/** Sees to it that an owner is never released under a running body, and never used again once it was released. */
export class OwnerWatch implements DriverWatch {
  /** How many bodies run under an owner's lease. */
  readonly #running = new Map<string, number>();
  readonly #givenBack = new Set<string>();

  constructor(
    private readonly backend: MemoryLockDriver,
    private readonly violated: (what: string) => void,
  ) {}

  acquiring({ key, owner }: AcquireRequest): void {
    this.#checkUnused(key, owner, 'asked for again');
  }

  renewing({ key, owner }: RenewRequest): void {
    this.#checkUnused(key, owner, 'renewed');
  }

  releasing({ key, owner }: ReleaseRequest): void {
    const id = idOf(key, owner);
    this.#givenBack.add(id);
    if ((this.#running.get(id) ?? 0) > 0) {
      this.violated(`${owner} released ${key} under a running body`);
    }
  }

  /** A body runs under the handle until the result is called. */
  enter(lock: EngineHandle): () => void {
    const ids = lock.keys.map((key) => idOf(key, this.#ownerOf(lock, key)));
    ids.forEach((id) => this.#count(id, 1));
    return () => ids.forEach((id) => this.#count(id, -1));
  }

  #count(id: string, by: number): void {
    this.#running.set(id, (this.#running.get(id) ?? 0) + by);
  }

  /** A handle of several keys tells the first one's owner only. */
  #ownerOf(lock: EngineHandle, key: string): string {
    const record = this.backend.inspect(key);
    return lock.keys.length === 1 || record === null ? lock.owner : record.owner;
  }

  #checkUnused(key: string, owner: string, what: string): void {
    if (this.#givenBack.has(idOf(key, owner))) {
      this.violated(`${owner} was ${what} for ${key} after it had been given back`);
    }
  }
}
