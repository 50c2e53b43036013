import type { Clock, Timer } from './clock.js';

/** What the promise gives, or a rejection with `error` if it gives nothing in time. */
export async function bounded<T>(
  promise: Promise<T>,
  ms: number,
  clock: Clock,
  error: () => Error,
): Promise<T> {
  let timer: Timer | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = clock.setTimeout(() => reject(error()), ms);
  });
  try {
    return await Promise.race([promise, limit]);
  } finally {
    clock.clearTimeout(timer!);
  }
}
