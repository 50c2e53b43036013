import { AsyncResource } from 'node:async_hooks';
import { from, Observable, type ObservableInput, Subject, takeUntil } from 'rxjs';
import { lostErrorOf } from '../core/lost-error.js';
import type { Keeping } from './keeping.js';

/**
 * The source, subscribed to under a lock. When it ends, by itself, by its subscriber, or because the lock is lost, it is
 * left first, the lock given back then, and after that whoever waits for the end is told.
 */
export function heldObservable(
  source: () => unknown,
  { handle, inside, release, coversConsumers }: Keeping,
): Observable<unknown> {
  return new Observable((subscriber) => {
    const { signal } = handle;
    // Whoever emits, ends or finds out of a loss runs in an async context of its own.
    const subscribing = new AsyncResource('WithLock');
    const tellOutside = (tell: () => void): void => subscribing.runInAsyncScope(tell);
    // A source that emits as soon as it is subscribed to can be left in no other way.
    const leave = new Subject<void>();
    let isOver = false;
    // While it is being subscribed to, it is at work, even if it was left.
    const subscribed = new Deferral();
    const end = (tell?: () => void): void => {
      if (!isOver) {
        isOver = true;
        signal.removeEventListener('abort', lost);
        leave.next();
        subscribed.whenOver(() => void release().then(() => tell && tellOutside(tell)));
      }
    };
    const lost = (): void => end(() => subscriber.error(signal.reason));
    // A source that kept the event loop busy may have outlasted its lock before any timer could tell.
    const endWith = (tell: () => void, error?: unknown): void => {
      const lostError = lostErrorOf(handle, error);
      end(lostError === null ? tell : () => subscriber.error(lostError));
    };
    const follow = (): void => {
      from(source() as ObservableInput<unknown>)
        .pipe(takeUntil(leave))
        .subscribe({
          next: (value) =>
            coversConsumers ? subscriber.next(value) : tellOutside(() => subscriber.next(value)),
          error: (error: unknown) => endWith(() => subscriber.error(error), error),
          complete: () => endWith(() => subscriber.complete()),
        });
    };
    signal.addEventListener('abort', lost);
    subscriber.add(() => end());
    try {
      if (!isOver) {
        handle.assertHeld();
        inside(follow);
      }
    } catch (error) {
      end(() => subscriber.error(error));
    }
    subscribed.over();
  });
}

/** Puts off what is to be done until something is over; afterwards nothing is put off any more. */
class Deferral {
  #isOver = false;
  #work: (() => void) | undefined;

  whenOver(work: () => void): void {
    if (this.#isOver) {
      work();
    } else {
      this.#work = work;
    }
  }

  over(): void {
    this.#isOver = true;
    this.#work?.();
  }
}
