import type { RetrySettings } from './acquire-settings.js';

/** How much later than announced a next try may come: timers are coarse and the way is long. */
const WANTED_SLACK = 10;

/** The pause before try number `tries + 1`, before it is spread. The first try, which is most of them, needs no power. */
function pause({ min, max, factor }: RetrySettings, tries: number): number {
  return tries === 0 ? min : Math.min(max, min * factor ** tries);
}

/** The pause before try number `tries + 1`, spread at random. */
export function backOff(retry: RetrySettings, tries: number, random: () => number): number {
  return pause(retry, tries) * (1 + retry.jitter * (2 * random() - 1));
}

/** For how long a try that may be denied marks the lock as wanted: until its next try has surely come. */
export function wantFor(retry: RetrySettings, tries: number): number {
  return Math.ceil(pause(retry, tries) * (1 + retry.jitter)) + WANTED_SLACK;
}
