import type { RetrySettings } from './acquire-settings.js';

/** How much later than announced a next try may come: timers are coarse and the way is long. */
const WANTED_SLACK = 10;

/** The longest pause before try number `tries + 1`. */
function pause(retry: RetrySettings, tries: number): number {
  return Math.min(retry.max, retry.min * retry.factor ** tries);
}

/** The pause before try number `tries + 1`, spread at random. */
export function backOff(retry: RetrySettings, tries: number, random: () => number): number {
  return pause(retry, tries) * (1 + retry.jitter * (2 * random() - 1));
}

/** For how long a try that may be denied marks the lock as wanted: until its next try has surely come. */
export function wantFor(retry: RetrySettings, tries: number): number {
  return Math.ceil(pause(retry, tries) * (1 + retry.jitter)) + WANTED_SLACK;
}
