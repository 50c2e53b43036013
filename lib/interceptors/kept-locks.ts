import type { EngineContext } from '../core/engine-context.js';
import type { FrameLocks } from '../core/frames.js';
import type { Hold } from '../core/hold.js';
import type { EngineHandle } from '../core/lock-handle.js';
import type { LockLostError } from '../errors/lock-lost.error.js';
import type { MaybePromise } from '../interfaces/lock-driver.interface.js';
import type { LockKeys } from '../lock.service.js';

/** A lock that one of the handler's methods took. */
interface KeptLock {
  readonly id: symbol;
  readonly keys: string;
  readonly handle: EngineHandle;
}

/** The locks that are kept for a handler's chain, which runs under them from when they are taken. */
export class KeptLocks implements FrameLocks {
  #kept: KeptLock[] = [];
  readonly #asked = new Map<symbol, Promise<unknown>>();
  #isClosed = false;

  /** The lock that is kept for this id: the one of an earlier call if it is still held, or else a new one. */
  async keep(
    id: symbol,
    keys: LockKeys,
    take: () => MaybePromise<EngineHandle>,
  ): Promise<EngineHandle> {
    while (this.#asked.has(id)) {
      await Promise.allSettled([this.#asked.get(id)]);
    }
    const name = JSON.stringify(keys);
    const kept = this.#kept.find((lock) => lock.id === id && lock.keys === name);
    if (kept?.handle.held) {
      return kept.handle;
    }
    if (kept !== undefined) {
      this.#giveUpFrom(kept);
    }
    const asked = (async () => take())();
    this.#asked.set(id, asked);
    try {
      const handle = await asked;
      // What only joins a lock that is held already needs not be kept, and would keep its holder from ending.
      if (!handle.isJoined) {
        this.#kept.push({ id, keys: name, handle });
      }
      return handle;
    } finally {
      this.#asked.delete(id);
    }
  }

  /** A lock that was lost is taken anew, and those inside it after it: held meanwhile, they would be taken in the wrong order. */
  #giveUpFrom(lost: KeptLock): void {
    const inside = this.#kept.splice(this.#kept.indexOf(lost));
    inside.toReversed().forEach(({ handle }) => void handle.release());
  }

  /** Why a lock that is kept was lost, if one was. */
  get lostError(): LockLostError | null {
    const errors = this.#handles.map((handle) => handle.lostError());
    return errors.find((error) => error !== null) ?? null;
  }

  /** Gives them back, the last one first. */
  async release(): Promise<void> {
    const handles = this.#handles;
    this.#isClosed = true;
    this.#kept = [];
    for (const handle of handles.toReversed()) {
      await handle.release();
    }
  }

  holdOn(key: string, context: EngineContext): Hold | null {
    const holds = this.#handles.map((handle) => handle.holdOn(key, context));
    return holds.find((hold) => hold !== null) ?? null;
  }

  isOf(context: EngineContext): boolean {
    return this.#handles.some((handle) => handle.isOf(context));
  }

  get isLive(): boolean {
    return !this.#isClosed;
  }

  find(fits: (handle: EngineHandle) => boolean): EngineHandle | undefined {
    return this.#handles.findLast((handle) => handle.find(fits) !== undefined);
  }

  get #handles(): readonly EngineHandle[] {
    return this.#kept.map(({ handle }) => handle);
  }
}
