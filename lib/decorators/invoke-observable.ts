import { EMPTY, from, Observable, type ObservableInput, of, Subscription } from 'rxjs';
import type { EngineHandle } from '../core/lock-handle.js';
import { isPending } from '../core/maybe-promise.js';
import type { MaybePromise } from '../interfaces/lock-driver.interface.js';
import { HandlerScope } from '../interceptors/handler-scope.js';
import type { LockService } from '../lock.service.js';
import { heldObservable } from './held-observable.js';
import type { Call } from './locked-method.js';
import { isObservable } from './return-kind.js';

/** Subscribing takes the lock; completing, erring and leaving give it back. */
export function invokeObservable(call: Call): Observable<unknown> {
  return new Observable((subscriber) => {
    const left = new AbortController();
    const subscription = new Subscription(() => left.abort());
    const follow = (observable: Observable<unknown>): void => {
      subscription.add(observable.subscribe(subscriber));
    };
    const refuse = (error: unknown): void => {
      try {
        follow(observableOf(call.lock.insteadOf(error, call.instance, call.args)));
      } catch (unanswered) {
        subscriber.error(unanswered);
      }
    };
    try {
      const held = takeFor(call, left.signal);
      if (isPending(held)) {
        held.then(
          (lock) => (left.signal.aborted ? void lock.release() : follow(lock.observable)),
          refuse,
        );
      } else {
        follow(held.observable);
      }
    } catch (error) {
      refuse(error);
    }
    return subscription;
  });
}

/** The lock of one subscription, and what runs under it. */
interface Held {
  readonly observable: Observable<unknown>;
  release(): Promise<unknown>;
}

function takeFor(call: Call, signal: AbortSignal): MaybePromise<Held> {
  const { lock, instance, args } = call;
  const service = lock.serviceOf(instance);
  const keys = lock.keysOf(args);
  const settings = { ...lock.settingsFor(service), signal };
  const scope = HandlerScope.keeping(lock.id);
  if (scope !== undefined) {
    const leave = scope.enter();
    return scope.take(lock.id, service, keys, settings).then(
      (handle) => hold(call, service, handle, scope, leave),
      (error: unknown) => {
        leave();
        throw error;
      },
    );
  }
  const started = service.take(keys, settings);
  return isPending(started)
    ? started.then((handle) => hold(call, service, handle))
    : hold(call, service, started);
}

function hold(
  { lock, proceed }: Call,
  service: LockService,
  handle: EngineHandle,
  scope?: HandlerScope,
  leave?: () => void,
): Held {
  const inside = <T>(work: () => T): T =>
    service.engine.runUnder(handle, () =>
      scope === undefined ? work() : scope.runWithin(lock.id, work),
    );
  const release = async (): Promise<void> => {
    await handle.release();
    leave?.();
  };
  return { observable: heldObservable(proceed, { handle, inside, release }), release };
}

function observableOf(value: unknown): Observable<unknown> {
  if (value === undefined) {
    return EMPTY;
  }
  const isInput = isObservable(value) || isPending(value);
  return isInput ? from(value as ObservableInput<unknown>) : of(value);
}
