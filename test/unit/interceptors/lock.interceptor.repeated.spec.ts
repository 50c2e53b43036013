import {
  catchError,
  defer,
  isObservable,
  lastValueFrom,
  merge,
  mergeMap,
  type Observable,
  of,
  repeat,
  retry,
  shareReplay,
  Subject,
  tap,
  throwError,
  timeout,
  timer,
  toArray,
} from 'rxjs';
import { beforeEach, describe, expect, it } from 'vitest';
import { until } from '../decorators/support.js';
import { type Around, callDirectly, callHandler } from './handler-call.js';
import { Handlers, KINDS } from './handlers.js';

let handlers: Handlers;

beforeEach(() => {
  handlers = new Handlers();
});

/** A source that fails so many times before it gives a value, and tells if it runs twice at once. */
function failing(times: number): () => Observable<unknown> {
  let running = 0;
  let runs = 0;
  return () =>
    defer(() => {
      runs++;
      handlers.note(running++ === 0 ? `run ${runs}` : 'overlap');
      return timer(1).pipe(
        tap(() => {
          running--;
          if (runs <= times) {
            throw new Error('again');
          }
        }),
      );
    });
}

const RUNS = ['run 1, locked', 'run 2, locked', 'run 3, locked'];

describe.each(KINDS)('a handler that returns a $kind and is called again', ({ kind, of: as }) => {
  it.each<[string, Around]>([
    ['retry()', (next) => next.handle().pipe(retry(2))],
    ['retry() with a delay', (next) => next.handle().pipe(retry({ count: 2, delay: 3 }))],
    [
      'catchError()',
      (next) =>
        next.handle().pipe(
          catchError(() => next.handle()),
          catchError(() => next.handle()),
        ),
    ],
  ])('by an inner %s joins the lock that is kept', async (_, around) => {
    handlers.body = as(failing(2));
    await expect(lastValueFrom(callHandler(handlers, kind, { inside: [around] }))).resolves.toBe(0);
    expect(handlers.log).toEqual(RUNS);
    expect(handlers.asked).toBe(1);
    expect(handlers.locked).toEqual([]);
  });

  it('by an inner repeat() joins the lock that is kept', async () => {
    handlers.body = as(failing(0));
    const inside: Around[] = [(next) => next.handle().pipe(repeat(3), toArray())];
    await expect(lastValueFrom(callHandler(handlers, kind, { inside }))).resolves.toEqual([
      0, 0, 0,
    ]);
    expect(handlers.log).toEqual(RUNS);
    expect(handlers.asked).toBe(1);
    expect(handlers.locked).toEqual([]);
  });

  it('by a decorator above joins the lock that is kept', async () => {
    handlers.body = as(failing(2));
    const call = callDirectly(handlers, kind, (method) =>
      defer(async () => method()).pipe(
        mergeMap((result) => (isObservable(result) ? result : of(result))),
        retry(2),
      ),
    );
    await expect(lastValueFrom(call)).resolves.toBe(0);
    expect(handlers.log).toEqual(RUNS);
    expect(handlers.asked).toBe(1);
    expect(handlers.locked).toEqual([]);
  });

  it.each<[string, Around]>([
    ['retry()', (next) => next.handle().pipe(retry(2))],
    [
      'catchError()',
      (next) =>
        next.handle().pipe(
          catchError(() => next.handle()),
          catchError(() => next.handle()),
        ),
    ],
  ])('by a global %s takes its lock anew each time', async (_, around) => {
    handlers.body = as(failing(2));
    await expect(lastValueFrom(callHandler(handlers, kind, { outside: [around] }))).resolves.toBe(
      0,
    );
    expect(handlers.log).toEqual(RUNS);
    expect(handlers.asked).toBe(3);
    expect(handlers.locked).toEqual([]);
  });

  it('twice at once runs one after the other', async () => {
    handlers.body = as(failing(0));
    const inside: Around[] = [(next) => merge(next.handle(), next.handle()).pipe(toArray())];
    await expect(lastValueFrom(callHandler(handlers, kind, { inside }))).resolves.toEqual([0, 0]);
    expect(handlers.log).toEqual(RUNS.slice(0, 2));
    expect(handlers.asked).toBe(1);
    expect(handlers.locked).toEqual([]);
  });

  it('after its kept lock was lost takes a new one, and that one is kept', async () => {
    let runs = 0;
    handlers.body = as(() =>
      defer(() => {
        if (++runs === 1) {
          void handlers.locks.forceRelease('k');
        }
        return timer(1);
      }),
    );
    const inside: Around[] = [
      (next) =>
        next.handle().pipe(
          retry(1),
          tap(() => handlers.note('commit')),
        ),
    ];
    await expect(lastValueFrom(callHandler(handlers, kind, { inside }))).resolves.toBe(0);
    expect(handlers.log).toEqual(['commit, locked']);
    expect(handlers.locked).toEqual([]);
  });

  it('after its kept lock was lost, as others found out, takes a new one that is kept', async () => {
    let runs = 0;
    handlers.body = as(() => defer(() => timer(++runs === 1 ? 20 : 1)));
    const inside: Around[] = [
      (next) =>
        next.handle().pipe(
          retry(1),
          tap(() => handlers.note('commit')),
        ),
    ];
    const call = lastValueFrom(callHandler(handlers, kind, { inside }));
    await until(() => runs === 1);
    await handlers.locks.forceRelease('k');
    await expect(call).resolves.toBe(0);
    expect(runs).toBe(2);
    expect(handlers.log).toEqual(['commit, locked']);
    expect(handlers.locked).toEqual([]);
  });

  it('by each of those who subscribe to a call of it takes its lock each time', async () => {
    handlers.body = as(failing(0));
    const call = callHandler(handlers, kind);
    await Promise.all([lastValueFrom(call), lastValueFrom(call), lastValueFrom(call)]);
    expect(handlers.log).toEqual(RUNS);
    expect(handlers.locked).toEqual([]);
  });

  it('is called once for all who share it', async () => {
    handlers.body = as(failing(0));
    const shared = callHandler(handlers, kind).pipe(shareReplay(1));
    await Promise.all([lastValueFrom(shared), lastValueFrom(shared)]);
    expect(handlers.log).toEqual(RUNS.slice(0, 1));
    expect(handlers.locked).toEqual([]);
  });

  it('while its lock is busy asks for it again', async () => {
    handlers = new Handlers({ wait: 5 });
    handlers.body = as(() => of('done'));
    const other = await handlers.locks.acquire('k');
    const inside: Around[] = [
      (next) =>
        next
          .handle()
          .pipe(tap({ error: () => void other.release() }), retry({ count: 5, delay: 10 })),
    ];
    await expect(lastValueFrom(callHandler(handlers, kind, { inside }))).resolves.toBe('done');
    expect(handlers.locked).toEqual([]);
  });
});

describe('an observable that is subscribed to again', () => {
  it('joins the lock that is kept', async () => {
    handlers.body = failing(2);
    const call = callDirectly(handlers, 'observable', (method) =>
      (method() as Observable<unknown>).pipe(retry(2)),
    );
    await expect(lastValueFrom(call)).resolves.toBe(0);
    expect(handlers.log).toEqual(RUNS);
    expect(handlers.asked).toBe(1);
    expect(handlers.locked).toEqual([]);
  });
});

describe('a body that is still running when its call is repeated', () => {
  it('is never overlapped by the next', async () => {
    let running = 0;
    let most = 0;
    handlers.body = async () => {
      most = Math.max(most, ++running);
      await lastValueFrom(timer(12));
      running--;
    };
    const inside: Around[] = [(next) => next.handle().pipe(timeout(5), retry(3))];
    await expect(lastValueFrom(callHandler(handlers, 'promise', { inside }))).rejects.toThrow(
      'Timeout has occurred',
    );
    await until(() => handlers.locked.length === 0);
    expect(most).toBe(1);
  });
});

describe('two locks of a handler that turn out to be the same', () => {
  it('are joined again by retry()', async () => {
    let runs = 0;
    handlers.body = async () => {
      if (++runs < 3) {
        throw new Error('again');
      }
      return 'done';
    };
    const inside: Around[] = [(next) => next.handle().pipe(retry(2))];
    await expect(
      lastValueFrom(callHandler(handlers, 'transfer', { args: ['a', 'a'], inside })),
    ).resolves.toBe('done');
    expect(handlers.asked).toBe(1);
    expect(handlers.locked).toEqual([]);
  });
});

describe('a source that is shared inside', () => {
  it.each(['observable', 'promiseOfObservable'])(
    'keeps its lock as long as it lives, though the caller has left: %s',
    async (kind) => {
      const source = new Subject<unknown>();
      handlers.body = () => source;
      const inside: Around[] = [(next) => next.handle().pipe(shareReplay(1))];
      const subscription = callHandler(handlers, kind, { inside }).subscribe();
      await until(() => source.observed);
      subscription.unsubscribe();
      await lastValueFrom(timer(15));
      expect(handlers.locked).toEqual(['k']);
      source.complete();
      await until(() => handlers.locked.length === 0);
    },
  );
});

describe('an interceptor made from that of the package', () => {
  it('may repeat its calls as any other does', async () => {
    let runs = 0;
    handlers.body = () =>
      ++runs < 3 ? Promise.reject(new Error('again')) : Promise.resolve('done');
    const call = callDirectly(handlers, 'promise', (method) =>
      defer(() => method() as Promise<unknown>),
    );
    await expect(lastValueFrom(call.pipe(retry(2)))).resolves.toBe('done');
    expect(handlers.asked).toBe(3);
    expect(handlers.locked).toEqual([]);
  });

  it('sees the error of each', async () => {
    handlers.body = () => Promise.reject(new Error('again'));
    const call = callDirectly(handlers, 'promise', (method) =>
      defer(() => method() as Promise<unknown>).pipe(
        catchError((error: unknown) => throwError(() => error)),
      ),
    );
    await expect(lastValueFrom(call.pipe(retry(2)))).rejects.toThrow('again');
    expect(handlers.locked).toEqual([]);
  });
});
