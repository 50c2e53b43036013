import { Observable } from 'rxjs';
import { WithLock } from '../../../../lib/decorators/with-lock.decorator.js';
import type { Bodies } from './bodies.js';

type Rows = Observable<unknown>;

/** Handlers of every kind that share a key. */
export class FuzzedController {
  constructor(private readonly bodies: Bodies) {}

  @WithLock('k')
  promise(): Promise<unknown> {
    return this.bodies.promise();
  }

  @WithLock('k')
  observable(): Observable<unknown> {
    return this.bodies.observable();
  }

  @WithLock('k')
  async promiseOfObservable(): Promise<Observable<unknown>> {
    await this.bodies.promise();
    return this.bodies.observable();
  }

  /** An alias: nobody can tell before it is called that it gives an observable. */
  @WithLock('k')
  undeclared(): Rows {
    return this.bodies.observable();
  }

  @WithLock('k', { onBusy: 'skip' })
  skips(): Promise<unknown> {
    return this.bodies.promise();
  }

  @WithLock('k', { onBusy: 'skip' })
  observableSkips(): Observable<unknown> {
    return this.bodies.observable();
  }

  @WithLock('k')
  @WithLock('l')
  async twoLocks(): Promise<Observable<unknown>> {
    return this.bodies.observable();
  }

  @WithLock('k')
  @WithLock('k', { returns: 'observable' })
  oneLockTwice(): Observable<unknown> {
    return this.bodies.observable();
  }
}

export const METHODS = [
  'promise',
  'observable',
  'promiseOfObservable',
  'undeclared',
  'skips',
  'observableSkips',
  'twoLocks',
  'oneLockTwice',
] as const satisfies (keyof FuzzedController)[];

/** A call of these that is left runs on, as the outer lock sees it, until the inner one has been given back. */
export const TWO_LOCKS: ReadonlySet<string> = new Set(['twoLocks', 'oneLockTwice']);
