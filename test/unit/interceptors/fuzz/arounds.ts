import {
  catchError,
  concat,
  concatMap,
  defer,
  delay,
  EMPTY,
  expand,
  first,
  lastValueFrom,
  map,
  merge,
  mergeMap,
  of,
  race,
  repeat,
  retry,
  share,
  shareReplay,
  switchMap,
  take,
  takeUntil,
  timeout,
  timer,
  toArray,
} from 'rxjs';
import type { Random } from '../../../support/random.js';
import type { Around } from '../handler-call.js';

/** Something that an interceptor does under the handler's own key. */
export type Audit = () => Promise<unknown>;

type Draw = (random: Random) => Around;

const some = (random: Random): number => random.int(1, 25);

/** What interceptors do with the handler that they stand around. */
export const AROUNDS: Readonly<Record<string, Draw>> = {
  take: (random) => {
    const count = random.int(1, 2);
    return (next) => next.handle().pipe(take(count));
  },
  first: () => (next) => next.handle().pipe(first(undefined, 'none')),
  toArray: () => (next) => next.handle().pipe(toArray()),
  timeout: (random) => {
    const each = some(random);
    return (next) => next.handle().pipe(timeout(each));
  },
  takeUntil: (random) => {
    const ms = some(random);
    return (next) => next.handle().pipe(takeUntil(timer(ms)));
  },
  retry: (random) => {
    const count = random.int(1, 3);
    return (next) => next.handle().pipe(retry(count));
  },
  retryLater: (random) => {
    const config = { count: random.int(1, 2), delay: some(random) };
    return (next) => next.handle().pipe(retry(config));
  },
  repeat: (random) => {
    const count = random.int(2, 3);
    return (next) => next.handle().pipe(repeat(count));
  },
  repeatLater: (random) => {
    const config = { count: 2, delay: some(random) };
    return (next) => next.handle().pipe(repeat(config));
  },
  shareReplay: () => (next) => next.handle().pipe(shareReplay(1)),
  shareReplayCounted: () => (next) =>
    next.handle().pipe(shareReplay({ bufferSize: 1, refCount: true })),
  share: () => (next) => {
    const shared = next.handle().pipe(share());
    return merge(shared, shared);
  },
  delay: (random) => {
    const ms = some(random);
    return (next) => next.handle().pipe(delay(ms));
  },
  defer: () => (next) => defer(() => next.handle()),
  later: (random) => {
    const ms = some(random);
    return (next) => timer(ms).pipe(mergeMap(() => next.handle()));
  },
  replace: () => (next) => next.handle().pipe(catchError(() => of('instead'))),
  again: () => (next) => next.handle().pipe(catchError(() => next.handle())),
  subscribedAgain: () => (next) => {
    const call = next.handle();
    return call.pipe(catchError(() => call));
  },
  switch: (random) => {
    const ms = some(random);
    return (next) => next.handle().pipe(switchMap((value) => timer(ms).pipe(map(() => value))));
  },
  commit: (random) => {
    const ms = some(random);
    return (next) => next.handle().pipe(concatMap((value) => timer(ms).pipe(map(() => value))));
  },
  within: () => (next) =>
    next.handle().pipe(
      take(2),
      mergeMap(() => next.handle()),
    ),
  withinItself: () => (next) => {
    const call = next.handle();
    return call.pipe(expand((_, i) => (i === 0 ? call : EMPTY)));
  },
  race: (random) => {
    const ms = some(random);
    return (next) => race(next.handle(), timer(ms).pipe(map(() => 'instead')));
  },
  twice: () => (next) => merge(next.handle(), next.handle()),
  subscribedTwice: () => (next) => {
    const call = next.handle();
    return merge(call, call);
  },
  promise: () => (next) => defer(() => lastValueFrom(next.handle(), { defaultValue: 'none' })),
};

/** Those that call the handler again from within its own value. */
const WITHIN: ReadonlySet<string> = new Set(['within', 'withinItself']);

/** Those that go on when the chain has ended: what they call then is called like a service, whose consumers join its lock. */
const OUTLIVING: ReadonlySet<string> = new Set(['shareReplay', 'promise']);

/** Those that call the handler again before it has ended: if one call fails, another may be on its way. */
export const OVERLAPPING: ReadonlySet<string> = new Set([
  ...WITHIN,
  'share',
  'twice',
  'subscribedTwice',
]);

/** Those that end a chain though the handler still waits for its lock, perhaps. */
export const IMPATIENT: ReadonlySet<string> = new Set(['race', 'takeUntil', 'timeout']);

/** What takes the handler's key beside it: each value, or the end. */
const AUDITS: readonly ((audit: Audit) => Around)[] = [
  (audit) => (next) => next.handle().pipe(concatMap(audit)),
  (audit) => (next) => concat(next.handle(), defer(audit)),
];

/** Some of them, the outermost first. */
export function drawArounds(
  random: Random,
  most: number,
  audit?: Audit,
): readonly [string[], Around[]] {
  const drawn = Array.from({ length: random.int(0, most) }, () =>
    random.pick(Object.keys(AROUNDS)),
  );
  const outlives = drawn.some((name) => OUTLIVING.has(name));
  const names = drawn.filter((name) => !(outlives && WITHIN.has(name)));
  const arounds = names.map((name) => AROUNDS[name]!(random));
  // Who waits for the key before the handler has it cannot join it.
  const mayAudit = !outlives && !names.some((name) => IMPATIENT.has(name));
  if (audit !== undefined && mayAudit && random.chance(0.3)) {
    const at = random.int(0, names.length);
    names.splice(at, 0, 'audit');
    arounds.splice(at, 0, random.pick(AUDITS)(audit));
  }
  return [names, arounds];
}
