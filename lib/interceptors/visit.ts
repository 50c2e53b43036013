import { AsyncLocalStorage } from 'node:async_hooks';
import type { ExecutionContext } from '@nestjs/common';
import type { AcquireSettings } from '../core/acquire-settings.js';
import { runInFrame } from '../core/frames.js';
import type { EngineHandle } from '../core/lock-handle.js';
import type { LockKeys, LockService } from '../lock.service.js';
import type { HandlerScope } from './handler-scope.js';

/** Where in which scope something runs: within a call of a locked method, or around all of them. */
interface Place {
  readonly scope: HandlerScope;
  readonly visit: Visit | null;
}

const places = new AsyncLocalStorage<Place>();

/** Runs the chain of a handler within its scope, and under the locks that it keeps. */
export function runInScope<T>(scope: HandlerScope, work: () => T): T {
  return runInFrame(scope.kept, () => places.run({ scope, visit: null }, work));
}

/** Whether this call of a handler has its scope already. */
export function hasScope(context: ExecutionContext): boolean {
  return places.getStore()?.scope.isOpenFor(context) ?? false;
}

/**
 * The way of a locked method into the scope of its handler, from where it is called: none if the scope is another's, or
 * if the caller is within the method already, as a method is that calls itself.
 */
export function entranceFor(id: symbol): Entrance | undefined {
  const place = places.getStore();
  return place === undefined || !place.scope.keeps(id) || place.visit?.isWithin(id)
    ? undefined
    : new Entrance(place, id);
}

/**
 * Where a locked method was called. Who subscribes to its observable may do so again, from within a value of it, or in
 * an async context that knows nothing of the handler: it is the call that belongs to the scope, and all its subscriptions.
 */
export class Entrance {
  constructor(
    private readonly place: Place,
    private readonly id: symbol,
  ) {}

  /** Begins a call or a subscription; none if the chain has ended. */
  enter(): Visit | undefined {
    return this.place.scope.keeps(this.id) ? new Visit(this.place, this.id) : undefined;
  }
}

/** One call of a locked method, or one subscription to its observable, within its handler's scope. */
export class Visit {
  #isOver = false;

  constructor(
    private readonly place: Place,
    private readonly id: symbol,
  ) {
    this.scope.enter();
  }

  get scope(): HandlerScope {
    return this.place.scope;
  }

  /** Whether this is a call of the method with that lock, or within one that has not ended. */
  isWithin(id: symbol): boolean {
    return (!this.#isOver && this.id === id) || (this.place.visit?.isWithin(id) ?? false);
  }

  /** Runs what belongs to the method: its body, and the source of its observable. */
  inside<T>(work: () => T): T {
    return places.run({ scope: this.scope, visit: this }, work);
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
    const kept = await this.scope.kept.keep(this.id, keys, () => service.take(keys, settings));
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
