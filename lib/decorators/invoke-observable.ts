import { EMPTY, from, Observable, type ObservableInput, of } from 'rxjs';
import { isPending } from '../core/maybe-promise.js';
import { entranceFor } from '../interceptors/visit.js';
import { followUnderLock } from './follow-under-lock.js';
import type { Call } from './locked-method.js';
import { isObservable } from './return-kind.js';

/** Subscribing takes the lock; completing, erring and leaving give it back. */
export function invokeObservable(call: Call): Observable<unknown> {
  const entrance = entranceFor(call.lock.id);
  return new Observable((subscriber) => {
    const visit = entrance?.enter();
    visit?.scope.becomeStream();
    const needsValue = visit?.scope.needsValue ?? false;
    followUnderLock(call, visit, subscriber, {
      source: call.proceed,
      refused: (error) =>
        observableOf(call.lock.insteadOf(error, call.instance, call.args), needsValue),
    });
  });
}

function observableOf(value: unknown, needsValue: boolean): Observable<unknown> {
  if (value === undefined) {
    return needsValue ? of(undefined) : EMPTY;
  }
  const isInput = isObservable(value) || isPending(value);
  return isInput ? from(value as ObservableInput<unknown>) : of(value);
}
