import { AsyncLocalStorage } from 'node:async_hooks';
import type { ExecutionContext } from '@nestjs/common';
import type { AcquireSettings } from '../core/acquire-settings.js';
import type { EngineHandle } from '../core/lock-handle.js';
import type { LockLostError } from '../errors/lock-lost.error.js';
import type { LockErrorMapper } from '../interfaces/distributed-lock-module-options.interface.js';
import type { LockKeys, LockService } from '../lock.service.js';

/** A scope as seen from a place in the handler's call: within which of its locked methods that is. */
interface View {
  readonly scope: HandlerScope;
  readonly within: readonly symbol[];
}

const views = new AsyncLocalStorage<View>();

/**
 * One call of a handler, from the outermost interceptor of its controller inwards: the locks that its own method takes
 * are kept here until the chain has ended and the method's body has settled.
 */
export class HandlerScope {
  /** As the service says that was asked for a lock last, whether it gave it or not. */
  mapErrors: boolean | LockErrorMapper = true;
  readonly #ids: ReadonlySet<symbol>;
  readonly #kept = new Map<symbol, Promise<EngineHandle>>();
  readonly #ending = new AbortController();
  /** Bodies that run, or wait for their lock. */
  #running = 0;
  #idle: (() => void) | undefined;
  #closed: Promise<void> | undefined;

  constructor(
    readonly context: ExecutionContext,
    ids: readonly symbol[],
  ) {
    this.#ids = new Set(ids);
  }

  /** The scope that the caller runs in. */
  static get current(): HandlerScope | undefined {
    return views.getStore()?.scope;
  }

  /**
   * The scope that keeps this lock: if it is one of the handler's own, and the caller is not within its method already,
   * as a method is that calls itself.
   */
  static keeping(id: symbol): HandlerScope | undefined {
    const view = views.getStore();
    if (view === undefined || view.within.includes(id)) {
      return undefined;
    }
    return view.scope.#ids.has(id) ? view.scope : undefined;
  }

  run<T>(work: () => T): T {
    return views.run({ scope: this, within: [] }, work);
  }

  runWithin<T>(id: symbol, work: () => T): T {
    return views.run({ scope: this, within: [...(views.getStore()?.within ?? []), id] }, work);
  }

  get hasRunning(): boolean {
    return this.#running > 0;
  }

  /** Counts a body as running until the result is called. */
  enter(): () => void {
    this.#running++;
    return () => {
      this.#running--;
      if (this.#running === 0) {
        this.#idle?.();
      }
    };
  }

  /**
   * Takes the lock for one call of the method, below the one that is kept here. A call that `retry()` repeats gets the
   * same lock again, after the call before it has settled.
   */
  async take(
    id: symbol,
    service: LockService,
    keys: LockKeys,
    settings: AcquireSettings,
  ): Promise<EngineHandle> {
    this.mapErrors = service.options.mapErrors;
    const whileOpen = { ...settings, signal: this.#ending.signal };
    const kept = await this.#keep(id, () => service.take(keys, whileOpen));
    return service.engine.runUnder(kept, () =>
      service.take(keys, { ...whileOpen, reentrant: true }),
    );
  }

  async #keep(
    id: symbol,
    take: () => PromiseLike<EngineHandle> | EngineHandle,
  ): Promise<EngineHandle> {
    let kept = this.#kept.get(id);
    if (kept === undefined) {
      kept = (async () => take())();
      this.#kept.set(id, kept);
    }
    try {
      return await kept;
    } catch (error) {
      // The next call asks for it again.
      this.#kept.delete(id);
      throw error;
    }
  }

  /** Why one of the locks was lost, if it was. */
  async lostError(): Promise<LockLostError | null> {
    const errors = (await this.#all()).map((handle) => handle.lostError());
    return errors.find((error) => error !== null) ?? null;
  }

  /** The chain has ended: nobody waits for a lock any longer, and what is kept is given back when no body runs. */
  close(): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  async #close(): Promise<void> {
    this.#ending.abort();
    if (this.#running > 0) {
      await new Promise<void>((resolve) => (this.#idle = resolve));
    }
    for (const handle of (await this.#all()).toReversed()) {
      await handle.release();
    }
  }

  async #all(): Promise<EngineHandle[]> {
    const kept = await Promise.allSettled(this.#kept.values());
    return kept.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  }
}
