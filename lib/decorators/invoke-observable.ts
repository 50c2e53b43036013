import { EMPTY, from, Observable, type ObservableInput, of } from 'rxjs';
import type { EngineHandle } from '../core/lock-handle.js';
import { isPending } from '../core/maybe-promise.js';
import type { MaybePromise } from '../interfaces/lock-driver.interface.js';
import { HandlerScope, type Visit } from '../interceptors/handler-scope.js';
import { heldObservable, type Keeping } from './held-observable.js';
import type { Call } from './locked-method.js';
import { isObservable } from './return-kind.js';

/** Why nobody waits any longer; a constant, for an error would keep what is on the stack alive. */
const LEFT = 'the observable was unsubscribed from';

/** Subscribing takes the lock; completing, erring and leaving give it back. */
export function invokeObservable(call: Call): Observable<unknown> {
  return new Observable((subscriber) => {
    const visit = HandlerScope.visit(call.lock.id);
    const left = new AbortController();
    subscriber.add(() => left.abort(LEFT));
    const follow = (keeping: Keeping): void => {
      if (left.signal.aborted) {
        void keeping.release();
      } else {
        heldObservable(call.proceed, keeping).subscribe(subscriber);
      }
    };
    const refuse = (error: unknown): void => {
      visit?.leave();
      try {
        const instead = call.lock.insteadOf(error, call.instance, call.args);
        observableOf(instead, visit?.scope.needsValue ?? false).subscribe(subscriber);
      } catch (unanswered) {
        subscriber.error(unanswered);
      }
    };
    let taken: MaybePromise<Keeping>;
    try {
      taken = takeFor(call, visit, left.signal);
    } catch (error) {
      refuse(error);
      return;
    }
    if (isPending(taken)) {
      taken.then(follow, refuse);
    } else {
      follow(taken);
    }
  });
}

function takeFor(
  { lock, instance, args }: Call,
  visit: Visit | undefined,
  signal: AbortSignal,
): MaybePromise<Keeping> {
  const service = lock.serviceOf(instance);
  if (visit !== undefined) {
    visit.scope.mapErrors = service.options.mapErrors;
    visit.scope.becomeStream();
  }
  const keys = lock.keysOf(args);
  const settings = { ...lock.settingsFor(service), signal };
  const keep = (handle: EngineHandle): Keeping => {
    if (visit === undefined) {
      const inside = (work: () => void): void => service.engine.runUnder(handle, work);
      return { handle, inside, release: () => handle.release() };
    }
    let leaveBody: (() => void) | undefined;
    return {
      handle,
      inside: (work) => {
        leaveBody = visit.scope.enterBody();
        service.engine.runUnder(handle, () => visit.run(work));
      },
      release: () => {
        leaveBody?.();
        return handle.release().finally(() => visit.leave());
      },
    };
  };
  const started = visit?.take(service, keys, settings) ?? service.take(keys, settings);
  return isPending(started) ? started.then(keep) : keep(started);
}

function observableOf(value: unknown, needsValue: boolean): Observable<unknown> {
  if (value === undefined) {
    return needsValue ? of(undefined) : EMPTY;
  }
  const isInput = isObservable(value) || isPending(value);
  return isInput ? from(value as ObservableInput<unknown>) : of(value);
}
