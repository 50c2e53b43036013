import { AsyncLocalStorage } from 'node:async_hooks';
import type { ExecutionContext } from '@nestjs/common';
import type { AcquireSettings } from '../core/acquire-settings.js';
import type { EngineHandle } from '../core/lock-handle.js';
import type { LockLostError } from '../errors/lock-lost.error.js';
import type { LockErrorMapper } from '../interfaces/distributed-lock-module-options.interface.js';
import type { MaybePromise } from '../interfaces/lock-driver.interface.js';
import { needsValue } from './response.js';
import type { LockKeys, LockService } from '../lock.service.js';

/** Why nobody waits any longer. */
const ENDED = 'the handler has ended';

/** A lock that one of the handler's methods took. */
interface KeptLock {
  readonly id: symbol;
  readonly keys: string;
  readonly handle: EngineHandle;
}

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
  /** As the service says whose lock the method wants; undefined if it was not called. */
  mapErrors: boolean | LockErrorMapper | undefined;
  /** Given up at the end: what the handler leaves behind in its async context must not keep the request alive. */
  #context: ExecutionContext | undefined;
  readonly #ids: ReadonlySet<symbol>;
  #kept: KeptLock[] = [];
  readonly #asked = new Map<symbol, Promise<unknown>>();
  readonly #ending = new AbortController();
  /** Calls of the method that have not given their lock back, or wait for it. */
  #visits = 0;
  /** Promises that are still to settle, and observables that are subscribed to. */
  #bodies = 0;
  #isStream = false;
  #idle: (() => void) | undefined;
  #closed: Promise<void> | undefined;

  constructor(context: ExecutionContext, ids: readonly symbol[]) {
    this.#context = context;
    this.#ids = new Set(ids);
  }

  /** Whether this call of a handler has its scope already. */
  static isOpenFor(context: ExecutionContext): boolean {
    const scope = places.getStore()?.scope;
    return scope !== undefined && scope.#context === context && !scope.ending.aborted;
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

  /** Whether an empty observable would be an error, as Nest waits for the last value. */
  get needsValue(): boolean {
    return this.#context !== undefined && needsValue(this.#context);
  }

  /** Whether a body runs on, whatever became of the chain around it. */
  get hasBodies(): boolean {
    return this.#bodies > 0;
  }

  /** Whether the method gives an observable, so that its values cannot wait for the end. */
  get isStream(): boolean {
    return this.#isStream;
  }

  becomeStream(): void {
    this.#isStream = true;
  }

  /** Counts a body as running until the result is called. */
  enterBody(): () => void {
    let isRunning = true;
    this.#bodies++;
    return () => {
      this.#bodies -= isRunning ? 1 : 0;
      isRunning = false;
    };
  }

  /** Why a lock that is kept was lost, if one was. */
  get lostError(): LockLostError | null {
    const errors = this.#kept.map(({ handle }) => handle.lostError());
    return errors.find((error) => error !== null) ?? null;
  }

  /** The lock that is kept for this id: the one of an earlier call if it is still held, or else a new one. */
  async keep(
    id: symbol,
    keys: string,
    take: () => MaybePromise<EngineHandle>,
  ): Promise<EngineHandle> {
    while (this.#asked.has(id)) {
      await Promise.allSettled([this.#asked.get(id)]);
    }
    const kept = this.#kept.find((lock) => lock.id === id && lock.keys === keys);
    if (kept?.handle.held) {
      return kept.handle;
    }
    void kept?.handle.release();
    this.#kept = this.#kept.filter((lock) => lock !== kept);
    const asked = (async () => take())();
    this.#asked.set(id, asked);
    try {
      const handle = await asked;
      // What only joins a lock that is held already needs not be kept, and would keep its holder from ending.
      if (!handle.isJoined) {
        this.#kept.push({ id, keys, handle });
      }
      return handle;
    } finally {
      this.#asked.delete(id);
    }
  }

  leave(): void {
    this.#visits--;
    if (this.#visits === 0) {
      this.#idle?.();
    }
  }

  /** The chain has ended: whoever still waits for a lock need not wait any longer. */
  end(): void {
    // A constant: an error made here would keep the whole chain alive by its stack.
    this.#ending.abort(ENDED);
  }

  /** Gives back what is kept as soon as no call runs any more. */
  close(): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  async #close(): Promise<void> {
    this.end();
    this.#context = undefined;
    if (this.#visits > 0) {
      await new Promise<void>((resolve) => (this.#idle = resolve));
    }
    const kept = this.#kept.toReversed();
    this.#kept = [];
    for (const { handle } of kept) {
      await handle.release();
    }
  }

  #keeps(id: symbol): boolean {
    return this.#ids.has(id) && !this.ending.aborted;
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
    const kept = await this.scope.keep(this.id, String(keys), () => service.take(keys, settings));
    if (kept.isJoined) {
      return kept;
    }
    return service.engine.runUnder(kept, () =>
      service.take(keys, { ...settings, reentrant: true }),
    );
  }

  leave(): void {
    if (!this.#isOver) {
      this.#isOver = true;
      this.scope.leave();
    }
  }
}
