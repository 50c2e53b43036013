import type { Clock } from './clock.js';

/** When to stop waiting. */
export interface Bounds {
  readonly clock: Clock;
  readonly ms: number;
  readonly signal: AbortSignal;
}

/** Settles like the promise, or rejects when the time is over or the signal aborts, whichever comes first. */
export function bounded<T>(promise: Promise<T>, { clock, ms, signal }: Bounds): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void): void => {
      clock.clearTimeout(timer);
      signal.removeEventListener('abort', aborted);
      settle();
    };
    const aborted = (): void => end(() => reject(signal.reason));
    const timer = clock.setTimeout(() => end(() => reject(new Error('no answer in time'))), ms);
    timer.unref();
    signal.addEventListener('abort', aborted);
    promise.then(
      (value) => end(() => resolve(value)),
      (error: unknown) => end(() => reject(error)),
    );
  });
}
