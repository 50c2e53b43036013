import type { LockHandle } from '../../../lib/interfaces/lock-handle.interface.js';
import type { AcquireOptions } from '../../../lib/interfaces/lock-options.interface.js';
import type { LockService } from '../../../lib/lock.service.js';

/** Watches over one lock: who holds it, whether anybody else does at the same time, and its tokens. */
export class Witness {
  /** What must not be. */
  readonly complaints: string[] = [];
  /** What kept callers from getting the lock. */
  readonly errors: unknown[] = [];
  turns = 0;
  readonly #inside = new Set<LockHandle>();
  #newest = 0n;

  constructor(
    readonly key: string,
    private readonly options: AcquireOptions = {},
  ) {}

  /** One turn under the lock; what keeps the caller from it is noted. */
  async turn(locks: LockService, work: () => Promise<unknown> = nextTick): Promise<void> {
    let lock: LockHandle;
    try {
      lock = await locks.acquire(this.key, this.options);
    } catch (error) {
      this.errors.push(error);
      return;
    }
    this.saw(lock);
    this.#inside.add(lock);
    await work();
    this.#inside.delete(lock);
    await lock.release();
  }

  /** A handle that was just got. */
  saw(lock: LockHandle): void {
    this.turns++;
    for (const other of this.#inside) {
      if (other.held) {
        this.complaints.push(`${lock.owner} came in while ${other.owner} held it`);
      }
    }
    if (lock.fencingToken <= this.#newest) {
      this.complaints.push(`${lock.fencingToken} came after ${this.#newest}`);
    }
    this.#newest = lock.fencingToken;
  }

  /** Each service takes the lock again and again, by so many callers, as long as it is told to. */
  async watch(services: readonly LockService[], goesOn: () => boolean, callers = 3): Promise<void> {
    const loop = async (locks: LockService): Promise<void> => {
      while (goesOn()) {
        await this.turn(locks);
      }
    };
    await Promise.all(
      services.flatMap((locks) => Array.from({ length: callers }, () => loop(locks))),
    );
  }
}

function nextTick(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
