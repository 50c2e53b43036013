import type { MaybePromise } from '../../interfaces/lock-driver.interface.js';

/** Stores and timers round to milliseconds, so a span may look a little shorter than it was. */
export const CLOCK_GRAIN = 10;

const POLL_EVERY = 10;

/** At least so many milliseconds pass. */
export function delay(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms));
}

/** Asks again and again until the answer is not false. */
export async function poll<T>(
  what: string,
  ask: () => MaybePromise<T | false>,
  patience: number,
): Promise<T> {
  const deadline = performance.now() + patience;
  while (performance.now() < deadline) {
    const answer = await ask();
    if (answer !== false) {
      return answer;
    }
    await delay(POLL_EVERY);
  }
  throw new Error(`Waited ${patience / 1000} s in vain for ${what}`);
}
