import { Observable, throwError } from 'rxjs';
import { lostErrorOf } from '../core/lost-error.js';
import { LockLostError } from '../errors/lock-lost.error.js';
import type { Entrance, Visit } from '../interceptors/visit.js';
import { followUnderLock } from './follow-under-lock.js';
import { heldObservable } from './held-observable.js';
import { type Keeping, takeKeeping } from './keeping.js';
import type { Call } from './locked-method.js';
import { isObservable } from './return-kind.js';

/** A call as the handler of a request: the scope keeps the lock until the whole chain around it has ended. */
export async function invokeAsHandler(
  call: Call,
  visit: Visit,
  entrance: Entrance,
): Promise<unknown> {
  let keeping: Keeping;
  try {
    keeping = await takeKeeping(call, visit, visit.scope.ending);
  } catch (error) {
    visit.leave();
    return call.lock.insteadOf(error, call.instance, call.args);
  }
  const result = await runBody(call, keeping);
  if (isObservable(result)) {
    visit.scope.becomeStream();
    keeping.rest();
    return promisedObservable(result, call, entrance, keeping);
  }
  await keeping.release();
  return result;
}

/** Runs the method; if it fails, or has lost its lock, that is given back before the caller is told. */
async function runBody({ proceed }: Call, keeping: Keeping): Promise<unknown> {
  try {
    throwIfLost(keeping);
    const result = await keeping.inside(proceed);
    throwIfLost(keeping);
    return result;
  } catch (error) {
    const lost = lostErrorOf(keeping.handle, error);
    await keeping.release();
    throw lost ?? error;
  }
}

/**
 * The observable that a promise gave. Who subscribes at once, as Nest does, goes on under the lock of the promise; if
 * nobody does, it was left. Who subscribes later, or too, takes the lock again, below the one that the scope keeps.
 */
function promisedObservable(
  result: unknown,
  call: Call,
  entrance: Entrance,
  keeping: Keeping,
): Observable<unknown> {
  let unclaimed: Keeping | undefined = keeping;
  const claim = (): Keeping | undefined => {
    const claimed = unclaimed;
    unclaimed = undefined;
    return claimed;
  };
  setImmediate(() => void claim()?.release());
  const source = (): unknown => {
    throwIfLost(keeping);
    return result;
  };
  return new Observable((subscriber) => {
    const claimed = claim();
    if (claimed !== undefined) {
      return heldObservable(source, claimed).subscribe(subscriber);
    }
    const visit = entrance.enter();
    if (visit === undefined) {
      throw new LockLostError({ keys: keeping.handle.keys, reason: 'released' });
    }
    followUnderLock(call, visit, subscriber, {
      source,
      refused: (error) => throwError(() => error),
    });
    return undefined;
  });
}

function throwIfLost({ handle }: Keeping): void {
  const lost = handle.lostError();
  if (lost !== null) {
    throw lost;
  }
}
