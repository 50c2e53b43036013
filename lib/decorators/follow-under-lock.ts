import type { Observable, Subscriber } from 'rxjs';
import { isPending } from '../core/maybe-promise.js';
import type { MaybePromise } from '../interfaces/lock-driver.interface.js';
import type { Visit } from '../interceptors/visit.js';
import { heldObservable } from './held-observable.js';
import { type Keeping, takeKeeping } from './keeping.js';
import type { Call } from './locked-method.js';

/** Why nobody waits any longer; a constant, for an error would keep what is on the stack alive. */
const LEFT = 'the observable was unsubscribed from';

/** What is subscribed to once the lock is there, and what instead if it does not come. */
export interface Following {
  readonly source: () => unknown;
  readonly refused: (error: unknown) => Observable<unknown>;
}

/** Takes the lock of a call for one subscriber; completing, erring and leaving give it back. */
export function followUnderLock(
  call: Call,
  visit: Visit | undefined,
  subscriber: Subscriber<unknown>,
  { source, refused }: Following,
): void {
  const waiting = new Waiting(subscriber, visit?.scope.ending);
  const follow = (keeping: Keeping): void => {
    waiting.end();
    if (subscriber.closed) {
      void keeping.release();
    } else {
      heldObservable(source, keeping).subscribe(subscriber);
    }
  };
  const refuse = (error: unknown): void => {
    waiting.end();
    visit?.leave();
    try {
      refused(error).subscribe(subscriber);
    } catch (unanswered) {
      subscriber.error(unanswered);
    }
  };
  let taken: MaybePromise<Keeping>;
  try {
    taken = takeKeeping(call, visit, waiting.signal);
  } catch (error) {
    refuse(error);
    return;
  }
  if (isPending(taken)) {
    taken.then(follow, refuse);
  } else {
    follow(taken);
  }
}

/** Somebody waits until he leaves, or until the handler's chain ends: what is shared within it is not left by then. */
class Waiting {
  readonly #left = new AbortController();
  readonly #ending: AbortSignal | undefined;
  readonly #leave = (): void => this.#left.abort(LEFT);

  constructor(subscriber: Subscriber<unknown>, ending: AbortSignal | undefined) {
    this.#ending = ending;
    ending?.addEventListener('abort', this.#leave);
    subscriber.add(this.#leave);
  }

  get signal(): AbortSignal {
    return this.#left.signal;
  }

  end(): void {
    this.#ending?.removeEventListener('abort', this.#leave);
  }
}
