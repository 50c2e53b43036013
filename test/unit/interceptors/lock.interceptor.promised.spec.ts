import { getEventListeners } from 'node:events';
import {
  defer,
  EMPTY,
  finalize,
  from,
  lastValueFrom,
  merge,
  mergeMap,
  NEVER,
  type Observable,
  of,
  retry,
  Subject,
  Subscriber,
  tap,
  timeout,
  timer,
  toArray,
} from 'rxjs';
import { beforeEach, describe, expect, it } from 'vitest';
import { listen, settled, until } from '../decorators/support.js';
import { type Around, callDirectly, callHandler } from './handler-call.js';
import { Handlers } from './handlers.js';

const METHOD = 'promiseOfObservable';

let handlers: Handlers;

beforeEach(() => {
  handlers = new Handlers();
});

/** Calls the handler and hands its observable out, before anybody has subscribed to it; the chain ends when the test says so. */
async function handOut(): Promise<{
  readonly given: Observable<unknown>;
  readonly endChain: () => Promise<unknown>;
}> {
  const chainEnds = new Subject<void>();
  let given: Observable<unknown> | undefined;
  const call = callDirectly(handlers, METHOD, (method) =>
    from(method() as Promise<Observable<unknown>>).pipe(
      tap((observable) => (given = observable)),
      mergeMap(() => chainEnds),
    ),
  );
  const ended = lastValueFrom(call, { defaultValue: undefined });
  await until(() => given !== undefined);
  await settled();
  return {
    given: given!,
    endChain: () => {
      chainEnds.complete();
      return ended;
    },
  };
}

describe('an observable that a promise gave', () => {
  it('is not waited for by a retry, if nobody subscribes to it as it came too late', async () => {
    handlers = new Handlers({ wait: Infinity });
    let runs = 0;
    handlers.body = async () => {
      const run = ++runs;
      await lastValueFrom(timer(run === 1 ? 10 : 0));
      return of(run);
    };
    const inside: Around[] = [
      (next) => next.handle().pipe(timeout(5), retry({ count: 1, delay: 20 })),
    ];
    await expect(lastValueFrom(callHandler(handlers, METHOD, { inside }))).resolves.toBe(2);
    expect(handlers.locked).toEqual([]);
  });

  it('goes on under the lock of the promise: no other call comes between', async () => {
    const log: string[] = [];
    let runs = 0;
    handlers.body = async () => {
      const run = ++runs;
      log.push(`promise ${run}`);
      return defer(() => {
        log.push(`observable ${run}`);
        return timer(1).pipe(finalize(() => log.push(`end ${run}`)));
      });
    };
    const inside: Around[] = [(next) => merge(next.handle(), next.handle()).pipe(toArray())];
    await lastValueFrom(callHandler(handlers, METHOD, { inside }));
    expect(log).toEqual([1, 2].flatMap((n) => [`promise ${n}`, `observable ${n}`, `end ${n}`]));
  });

  it('may be subscribed to later, while the chain lasts, under the same lock', async () => {
    handlers.body = async () => defer(() => of(handlers.locks.current()?.fencingToken));
    const { given, endChain } = await handOut();
    const token = BigInt(handlers.driver.list()[0]!.fencingToken);
    await expect(lastValueFrom(given)).resolves.toBe(token);
    await endChain();
    expect(handlers.asked).toBe(1);
    expect(handlers.locked).toEqual([]);
  });

  it('is refused when the chain has ended', async () => {
    let runs = 0;
    handlers.body = async () => defer(() => of(++runs));
    const { given, endChain } = await handOut();
    await endChain();
    await expect(lastValueFrom(given)).rejects.toMatchObject({
      code: 'LOCK_LOST',
      reason: 'released',
    });
    expect(runs).toBe(0);
  });

  it('is refused when the lock has been lost meanwhile, though another could be had', async () => {
    let runs = 0;
    handlers.body = async () => defer(() => of(++runs));
    const { given, endChain } = await handOut();
    await handlers.locks.forceRelease('k');
    await expect(lastValueFrom(given)).rejects.toMatchObject({
      code: 'LOCK_LOST',
      reason: 'forced',
    });
    await endChain().catch(() => undefined);
    expect(runs).toBe(0);
    expect(handlers.locked).toEqual([]);
  });

  it('is held until the last of those who subscribe to it has left, one after the other', async () => {
    const sources = [new Subject<string>(), new Subject<string>()];
    let subscribed = 0;
    handlers.body = async () => defer(() => sources[subscribed++]!);
    const { given, endChain } = await handOut();
    const [first, second] = [listen(given), listen(given)];
    await until(() => subscribed > 0);
    await settled();
    expect(subscribed).toBe(1);
    sources[0]!.next('a');
    sources[0]!.complete();
    await until(() => subscribed === 2);
    expect(first).toEqual(['a', 'complete']);
    await endChain();
    expect(handlers.locked).toEqual(['k']);
    sources[1]!.next('b');
    sources[1]!.complete();
    await until(() => handlers.locked.length === 0);
    expect(second).toEqual(['b', 'complete']);
  });

  it('does not wait any longer when the chain has ended', async () => {
    handlers.body = async () => NEVER;
    const { given, endChain } = await handOut();
    const first = given.subscribe();
    await settled();
    const second = listen(given);
    await settled();
    const ended = endChain();
    await until(() => second.length > 0);
    expect(second).toEqual(['LOCK_ABORTED']);
    await ended;
    expect(handlers.locked).toEqual(['k']);
    first.unsubscribe();
    await until(() => handlers.locked.length === 0);
  });

  it('is not subscribed to for one who has left already, and nothing is left behind', async () => {
    let runs = 0;
    let signal: AbortSignal | undefined;
    const left = new Subscriber<unknown>();
    left.unsubscribe();
    handlers.body = async () => {
      signal = handlers.locks.current()?.signal;
      return defer(() => of(++runs));
    };
    const call = callDirectly(handlers, METHOD, (method) =>
      from(method() as Promise<Observable<unknown>>).pipe(
        tap((given) => given.subscribe(left)),
        mergeMap(() => EMPTY),
      ),
    );
    await lastValueFrom(call, { defaultValue: undefined });
    expect(runs).toBe(0);
    expect(getEventListeners(signal!, 'abort')).toEqual([]);
    expect(handlers.locked).toEqual([]);
  });
});
