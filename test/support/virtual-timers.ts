import { AsyncResource } from 'node:async_hooks';
import { vi } from 'vitest';
import { watch } from './outcome.js';

type Start = (callback: () => void, ...rest: unknown[]) => unknown;

/** Timers that fire when the test says so, each in the async context that started it, as those of Node do. */
export function useVirtualTimers(): void {
  vi.useFakeTimers({
    toFake: [
      'setTimeout',
      'clearTimeout',
      'setInterval',
      'clearInterval',
      'setImmediate',
      'clearImmediate',
      'performance',
      'Date',
    ],
  });
  for (const name of ['setTimeout', 'setInterval', 'setImmediate'] as const) {
    const start = globalThis[name] as Start;
    Reflect.set(globalThis, name, (callback: () => void, ...rest: unknown[]) =>
      start(AsyncResource.bind(callback), ...rest),
    );
  }
}

/** Lets so many milliseconds pass, and everything happen that is due by then. */
export async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}

/** Lets time pass until a promise has settled. */
export async function passUntil<T>(promise: Promise<T>): Promise<T> {
  const outcome = watch(promise);
  while (!outcome.settled) {
    await pass(1);
  }
  return promise;
}
