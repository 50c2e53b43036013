import { from, Observable, type ObservableInput, type Subscription } from 'rxjs';
import type { EngineHandle } from '../core/lock-handle.js';

/** How an observable is kept under a lock. */
export interface Keeping {
  readonly handle: EngineHandle;
  /** Runs something in the frame of the lock. */
  readonly inside: <T>(work: () => T) => T;
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
    let inner: Subscription | undefined;
    let isOver = false;
    const end = async (tell?: () => void): Promise<void> => {
      if (!isOver) {
        isOver = true;
        signal.removeEventListener('abort', lost);
        inner?.unsubscribe();
        await release();
        tell?.();
      }
    };
    const lost = (): void => void end(() => subscriber.error(signal.reason));
    const follow = (): Subscription =>
      from(source() as ObservableInput<unknown>).subscribe({
        next: (value) => subscriber.next(value),
        error: (error: unknown) => void end(() => subscriber.error(error)),
        complete: () => void end(() => subscriber.complete()),
      });
    signal.addEventListener('abort', lost);
    try {
      inner = inside(follow);
    } catch (error) {
      void end(() => subscriber.error(error));
    }
    if (signal.aborted) {
      lost();
    }
    if (isOver) {
      inner?.unsubscribe();
    }
    return () => void end();
  });
}
