import { AsyncLocalStorage } from 'node:async_hooks';
import {
  concat,
  concatMap,
  defer,
  expand,
  EMPTY,
  lastValueFrom,
  merge,
  mergeMap,
  Observable,
  of,
  repeat,
  retry,
  shareReplay,
  Subject,
  take,
  tap,
  timer,
  toArray,
} from 'rxjs';
import { beforeEach, describe, expect, it } from 'vitest';
import { currentLock } from '../../../lib/core/frames.js';
import { listen, settled, until } from '../decorators/support.js';
import { type Around, callDirectly, callHandler } from './handler-call.js';
import { Handlers, KINDS } from './handlers.js';

let handlers: Handlers;

beforeEach(() => {
  // Who waits for himself waits for ever.
  handlers = new Handlers({ wait: Infinity });
});

/** A source of so many values, one by one, that tells if it runs twice at once. */
function counted(values: number): () => Observable<unknown> {
  let running = 0;
  let runs = 0;
  return () =>
    new Observable((subscriber) => {
      handlers.log.push(running++ === 0 ? `run ${++runs}` : 'overlap');
      const subscription = timer(1, 1).pipe(take(values)).subscribe(subscriber);
      return () => {
        running--;
        subscription.unsubscribe();
      };
    });
}

const STREAMS = KINDS.filter(({ kind }) => kind !== 'promise');

describe.each(STREAMS)(
  'a $kind that is called again from within its own value',
  ({ kind, of: as }) => {
    it('by repeat(), after take(), does not wait for itself', async () => {
      handlers.body = as(counted(5));
      const inside: Around[] = [(next) => next.handle().pipe(take(1), repeat(3), toArray())];
      await expect(lastValueFrom(callHandler(handlers, kind, { inside }))).resolves.toEqual([
        0, 0, 0,
      ]);
      expect(handlers.log).toEqual(['run 1', 'run 2', 'run 3']);
      expect(handlers.asked).toBe(1);
    });

    it('while it is shared and goes on, comes after it', async () => {
      handlers.body = as(counted(3));
      const inside: Around[] = [
        (next) => next.handle().pipe(take(1), repeat(2), toArray()),
        (next) => next.handle().pipe(shareReplay(1)),
      ];
      await expect(lastValueFrom(callHandler(handlers, kind, { inside }))).resolves.toEqual([0, 0]);
      expect(handlers.log).toEqual(['run 1', 'run 2']);
      await until(() => handlers.locked.length === 0);
    });

    it.each<[string, Around]>([
      ['mergeMap()', (next) => next.handle().pipe(mergeMap(() => next.handle()))],
      ['expand()', (next) => next.handle().pipe(expand((_, i) => (i < 2 ? next.handle() : EMPTY)))],
    ])('by %s, comes after it', async (_, around) => {
      handlers.body = as(counted(2));
      await lastValueFrom(callHandler(handlers, kind, { inside: [around] }));
      expect(handlers.log).toEqual(['run 1', 'run 2', 'run 3']);
      expect(handlers.locked).toEqual([]);
    });

    it('by a global interceptor, is another call that waits for the first', async () => {
      handlers.body = as(counted(2));
      const outside: Around[] = [
        (next) => next.handle().pipe(expand((_, i) => (i < 2 ? next.handle() : EMPTY))),
      ];
      await lastValueFrom(callHandler(handlers, kind, { outside }));
      expect(handlers.log).toEqual(['run 1', 'run 2', 'run 3']);
      expect(handlers.locked).toEqual([]);
    });
  },
);

describe('an observable of a handler', () => {
  it('that is subscribed to again from within its own value comes after itself', async () => {
    handlers.body = counted(2);
    const call = callDirectly(handlers, 'observable', (method) => {
      const observable = method() as Observable<unknown>;
      return observable.pipe(expand((_, i) => (i < 2 ? observable : EMPTY)));
    });
    await lastValueFrom(call);
    expect(handlers.log).toEqual(['run 1', 'run 2', 'run 3']);
    expect(handlers.locked).toEqual([]);
  });

  it('belongs to the handler though it is subscribed to elsewhere', async () => {
    const elsewhere = new Subject<void>();
    handlers.body = () => of(handlers.locked.length);
    const call = callDirectly(handlers, 'observable', (method) => {
      const observable = method() as Observable<unknown>;
      return elsewhere.pipe(
        take(1),
        concatMap(() => observable),
        tap({ complete: () => handlers.note('commit') }),
      );
    });
    const told = listen(call);
    elsewhere.next();
    await until(() => told.length > 1);
    expect(told).toEqual([1, 'complete']);
    expect(handlers.log).toEqual(['commit, locked']);
  });

  it('that is left while it still emits keeps its lock as long as it is at work', async () => {
    const log: unknown[] = [];
    handlers.body = () =>
      new Observable((subscriber) => {
        subscriber.next('a');
        log.push(`left: ${subscriber.closed}`);
      });
    const inside: Around[] = [
      (next) =>
        concat(
          next.handle().pipe(take(1)),
          defer(() => handlers.locks.withLock('k', () => log.push('next'))),
        ),
    ];
    await lastValueFrom(callHandler(handlers, 'observable', { inside }));
    expect(log).toEqual(['left: true', 'next']);
  });
});

describe('the chain around a handler', () => {
  it.each(KINDS)(
    'joins its lock: what takes the same key does not wait for itself ($kind)',
    async ({ kind, of: as }) => {
      handlers.body = as(() => timer(1).pipe(tap(() => handlers.note('body'))));
      const audit = async (): Promise<void> =>
        handlers.locks.withLock('k', async () => handlers.note('audit'));
      const inside: Around[] = [
        (next) => concat(next.handle().pipe(concatMap(audit)), defer(audit)).pipe(toArray()),
      ];
      await lastValueFrom(callHandler(handlers, kind, { inside }));
      expect(handlers.log).toEqual(['body, locked', 'audit, locked', 'audit, locked']);
      expect(handlers.asked).toBe(1);
      expect(handlers.locked).toEqual([]);
    },
  );

  it.each(KINDS)(
    'sees the lock once it is taken, and not before: $kind',
    async ({ kind, of: as }) => {
      const seen: unknown[] = [];
      handlers.body = as(() => of('done'));
      const look: Around = (next) => {
        seen.push(currentLock()?.keys);
        return next.handle().pipe(tap(() => seen.push(currentLock()?.keys)));
      };
      await lastValueFrom(callHandler(handlers, kind, { inside: [look], outside: [look] }));
      expect(seen).toEqual([undefined, undefined, ['k'], undefined]);
    },
  );

  it('sees each of two locks', async () => {
    const seen: unknown[] = [];
    const look: Around = (next) =>
      next
        .handle()
        .pipe(
          tap(() =>
            seen.push(...[undefined, 'outer', 'inner'].map((key) => currentLock(key)?.keys)),
          ),
        );
    await lastValueFrom(callHandler(handlers, 'twice', { inside: [look] }));
    expect(seen).toEqual([['inner'], ['outer'], ['inner']]);
  });

  it('joins it within another lock that it took before', async () => {
    const inside: Around[] = [
      (next) =>
        defer(() =>
          handlers.locks.withLock('other', async () => {
            await lastValueFrom(next.handle());
            return handlers.locks.withLock('k', () => 'joined');
          }),
        ),
    ];
    await expect(lastValueFrom(callHandler(handlers, 'promise', { inside }))).resolves.toBe(
      'joined',
    );
  });

  it('waits in vain for the same key where it asks before the handler has it', async () => {
    handlers = new Handlers({ wait: 30 });
    const other = await handlers.locks.acquire('k');
    const inside: Around[] = [
      (next) =>
        merge(
          next.handle(),
          timer(1).pipe(concatMap(() => handlers.locks.withLock('k', () => 'beside'))),
        ),
    ];
    const told = listen(callHandler(handlers, 'promise', { inside }));
    await lastValueFrom(timer(5));
    await other.release();
    await until(() => told.length > 0 && handlers.locked.length === 0);
    expect(told.at(-1)).toBe('LOCK_TIMEOUT');
  });

  it('leaves nothing of it to what it began', async () => {
    const seen: unknown[] = [];
    const inside: Around[] = [
      (next) =>
        next.handle().pipe(tap(() => void settled().then(() => seen.push(currentLock()?.held)))),
    ];
    await lastValueFrom(callHandler(handlers, 'promise', { inside }));
    await until(() => seen.length > 0);
    expect(seen).toEqual([undefined]);
  });

  it.each(KINDS)(
    'passes values on in the async context of its caller: $kind',
    async ({ kind, of: as }) => {
      const contexts = new AsyncLocalStorage<string>();
      const seen: unknown[] = [];
      handlers.body = as(() => contexts.run('body', () => timer(1)));
      const note = (): unknown => seen.push(contexts.getStore());
      await contexts.run('caller', () =>
        lastValueFrom(callHandler(handlers, kind).pipe(tap({ next: note, complete: note }))),
      );
      expect(seen).toEqual(['caller', 'caller']);
    },
  );
});

describe('two locks of a handler', () => {
  it('are taken in their order again when the outer one was lost', async () => {
    const other = new Handlers({ wait: Infinity }, handlers.driver);
    other.body = async () => 'other';
    let others: Promise<unknown> | undefined;
    handlers.body = async () => {
      if (others === undefined) {
        await handlers.locks.forceRelease('outer');
        others = lastValueFrom(callHandler(other, 'twice'));
        // It has the outer lock then, and wants the inner one.
        await until(() => handlers.locked.includes('outer'));
      }
      return 'done';
    };
    const inside: Around[] = [(next) => next.handle().pipe(retry(1))];
    const call = lastValueFrom(callHandler(handlers, 'twice', { inside }));
    await expect(call).resolves.toBe('done');
    await expect(others).resolves.toBe('other');
    expect(handlers.locked).toEqual([]);
  });
});
