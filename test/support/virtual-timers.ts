import { AsyncResource } from 'node:async_hooks';
import { vi } from 'vitest';
import { watch } from './outcome.js';

type Start = (callback: () => void, ...rest: unknown[]) => unknown;

const STARTERS = ['setTimeout', 'setInterval', 'setImmediate'] as const;

/** Timers that fire when the test says so, each in the async context that started it, as those of Node do. Gives how to end that. */
export function useVirtualTimers(): () => void {
  vi.useFakeTimers({
    toFake: [...STARTERS, 'clearTimeout', 'clearInterval', 'clearImmediate', 'performance', 'Date'],
  });
  const fakes = STARTERS.map((name) => [name, globalThis[name] as Start] as const);
  for (const [name, start] of fakes) {
    Reflect.set(globalThis, name, (callback: () => void, ...rest: unknown[]) =>
      start(AsyncResource.bind(callback), ...rest),
    );
  }
  return () => {
    // What is in the place of a fake would be deleted, and not replaced by the real one.
    fakes.forEach(([name, start]) => Reflect.set(globalThis, name, start));
    vi.useRealTimers();
  };
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
