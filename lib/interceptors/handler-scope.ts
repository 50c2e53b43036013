import { AsyncLocalStorage } from 'node:async_hooks';
import type { ExecutionContext } from '@nestjs/common';
import type { AcquireSettings } from '../core/acquire-settings.js';
import type { EngineHandle } from '../core/lock-handle.js';
import type { LockLostError } from '../errors/lock-lost.error.js';
import type { LockErrorMapper } from '../interfaces/distributed-lock-module-options.interface.js';
import type { MaybePromise } from '../interfaces/lock-driver.interface.js';
import type { LockKeys, LockService } from '../lock.service.js';

/** Where in which scope something runs. */
const places = new AsyncLocalStorage<{
  readonly scope: HandlerScope;
  readonly visit: Visit | null;
}>();

/**
 * One call of a handler, from the outermost interceptor of its controller inwards: the locks that its own method takes
 * are kept here until the chain has ended and the method's body has settled.
 */
export class HandlerScope {
  /** As the service says that was asked for a lock last, whether it gave it or not. */
  mapErrors: boolean | LockErrorMapper = true;
  readonly #ids: ReadonlySet<symbol>;
  readonly #kept = new Map<symbol, EngineHandle>();
  readonly #ending = new AbortController();
  /** Calls of the method that run, or wait for their lock. */
  #visits = 0;
  #idle: (() => void) | undefined;
  #closed: Promise<void> | undefined;

  constructor(
    readonly context: ExecutionContext,
    ids: readonly symbol[],
  ) {
    this.#ids = new Set(ids);
  }

  /** Whether this call of a handler has its scope already. */
  static isOpenFor(context: ExecutionContext): boolean {
    const scope = places.getStore()?.scope;
    return scope !== undefined && scope.context === context && scope.#closed === undefined;
  }

  /**
   * Enters the scope that keeps this lock: if it is one of the handler's own, and the caller is not within its method
   * already, as a method is that calls itself.
   */
  static visit(id: symbol): Visit | undefined {
    const place = places.getStore();
    if (place === undefined || !place.scope.#keeps(id) || place.visit?.isWithin(id)) {
      return undefined;
    }
    place.scope.#visits++;
    return new Visit(place.scope, id, place.visit);
  }

  run<T>(work: () => T, visit: Visit | null = null): T {
    return places.run({ scope: this, visit }, work);
  }

  /** Aborts when the chain has ended. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  get hasVisits(): boolean {
    return this.#visits > 0;
  }

  /** Why a lock that is kept was lost, if one was. */
  get lostError(): LockLostError | null {
    const errors = [...this.#kept.values()].map((handle) => handle.lostError());
    return errors.find((error) => error !== null) ?? null;
  }

  /** The lock that is kept for this id: the one of an earlier call if it is still held, or else a new one. */
  async keep(id: symbol, take: () => MaybePromise<EngineHandle>): Promise<EngineHandle> {
    const kept = this.#kept.get(id);
    if (kept?.held) {
      return kept;
    }
    void kept?.release();
    const handle = await take();
    // What only joins a lock that is held already needs not be kept, and would keep its holder from ending.
    if (!handle.isJoined) {
      this.#kept.set(id, handle);
    }
    return handle;
  }

  leave(): void {
    this.#visits--;
    if (this.#visits === 0) {
      this.#idle?.();
    }
  }

  /** The chain has ended: whoever still waits for a lock need not wait any longer. */
  end(): void {
    this.#ending.abort();
  }

  /** Gives back what is kept as soon as no call runs any more. */
  close(): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  async #close(): Promise<void> {
    this.end();
    if (this.hasVisits) {
      await new Promise<void>((resolve) => (this.#idle = resolve));
    }
    for (const handle of [...this.#kept.values()].toReversed()) {
      await handle.release();
    }
  }

  #keeps(id: symbol): boolean {
    return this.#ids.has(id) && this.#closed === undefined;
  }
}

/** One call of a locked method within its handler's scope. */
export class Visit {
  #isOver = false;

  constructor(
    readonly scope: HandlerScope,
    private readonly id: symbol,
    private readonly outer: Visit | null,
  ) {}

  /** Whether this is a call of the method with that lock, or within one that has not ended. */
  isWithin(id: symbol): boolean {
    return (!this.#isOver && this.id === id) || (this.outer?.isWithin(id) ?? false);
  }

  run<T>(work: () => T): T {
    return this.scope.run(work, this);
  }

  /**
   * Takes the lock for this call, below the one that the scope keeps. A call that `retry()` repeats gets the same lock
   * again, after the call before it has settled.
   */
  async take(
    service: LockService,
    keys: LockKeys,
    settings: AcquireSettings,
  ): Promise<EngineHandle> {
    this.scope.mapErrors = service.options.mapErrors;
    const kept = await this.scope.keep(this.id, () => service.take(keys, settings));
    if (kept.isJoined) {
      return kept;
    }
    return service.engine.runUnder(kept, () =>
      service.take(keys, { ...settings, reentrant: true }),
    );
  }

  leave(): void {
    this.#isOver = true;
    this.scope.leave();
  }
}
