import { AsyncResource } from 'node:async_hooks';
import { from, Observable, type ObservableInput, Subject, takeUntil } from 'rxjs';
import type { EngineHandle } from '../core/lock-handle.js';
import { lostErrorOf } from '../core/lost-error.js';

/** How an observable is kept under a lock. */
export interface Keeping {
  readonly handle: EngineHandle;
  /** Runs something in the frame of the lock. */
  readonly inside: (work: () => void) => void;
  /** Gives the lock back. */
  readonly release: () => Promise<unknown>;
}

/**
 * The source, subscribed to under a lock. When it ends, by itself, by its subscriber, or because the lock is lost, it is
 * left first, the lock given back then, and after that whoever waits for the end is told.
 */
export function heldObservable(
  source: () => unknown,
  { handle, inside, release }: Keeping,
): Observable<unknown> {
  return new Observable((subscriber) => {
    const { signal } = handle;
    // A source that emits as soon as it is subscribed to can be left in no other way.
    const leave = new Subject<void>();
    let isOver = false;
    const end = async (tell?: () => void): Promise<void> => {
      if (!isOver) {
        isOver = true;
        signal.removeEventListener('abort', lost);
        leave.next();
        await release();
        tell?.();
      }
    };
    // Whoever finds out runs in an async context of its own; the subscriber is told in the one it subscribed in.
    const lost = AsyncResource.bind(() => void end(() => subscriber.error(signal.reason)));
    // A source that kept the event loop busy may have outlasted its lock before any timer could tell.
    const endWith = (tell: () => void, error?: unknown): void => {
      const lostError = lostErrorOf(handle, error);
      void end(lostError === null ? tell : () => subscriber.error(lostError));
    };
    const follow = (): void => {
      from(source() as ObservableInput<unknown>)
        .pipe(takeUntil(leave))
        .subscribe({
          next: (value) => subscriber.next(value),
          error: (error: unknown) => endWith(() => subscriber.error(error), error),
          complete: () => endWith(() => subscriber.complete()),
        });
    };
    subscriber.add(() => void end());
    signal.addEventListener('abort', lost);
    try {
      handle.assertHeld();
      inside(follow);
    } catch (error) {
      void end(() => subscriber.error(error));
    }
  });
}
