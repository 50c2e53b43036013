import {
  concatMap,
  defer,
  delay,
  from,
  lastValueFrom,
  map,
  mergeMap,
  Observable,
  of,
  race,
  tap,
  throwError,
  timeout,
  timer,
} from 'rxjs';
import { beforeEach, describe, expect, it } from 'vitest';
import { LockLostError } from '../../../lib/errors/lock-lost.error.js';
import { Deferred } from '../../support/deferred.js';
import { settled, until } from '../decorators/support.js';
import { type Around, callDirectly, callHandler } from './handler-call.js';
import { Handlers, KINDS } from './handlers.js';

const LONGER_THAN_A_RELEASE = 15;

let handlers: Handlers;

beforeEach(() => {
  handlers = new Handlers();
});

/** Writes down when the caller is told of the end. */
function follow(call: Observable<unknown>): Promise<unknown> {
  return lastValueFrom(
    call.pipe(
      tap({
        error: ({ message }: Error) => handlers.note(message),
        complete: () => handlers.note('complete'),
      }),
    ),
  ).catch((error: unknown) => error);
}

describe('a handler', () => {
  it('without a lock is left alone', async () => {
    await expect(follow(callHandler(handlers, 'free'))).resolves.toBe('done');
    expect(handlers.asked).toBe(0);
  });

  describe.each(KINDS)('that returns a $kind', ({ kind, of: as }) => {
    it('is held while it runs; the caller is told when it is free again', async () => {
      handlers.body = as(() => timer(1).pipe(tap(() => handlers.note('body'))));
      await expect(follow(callHandler(handlers, kind))).resolves.toBe(0);
      expect(handlers.log).toEqual(['body, locked', 'complete, free']);
      expect(handlers.asked).toBe(1);
    });

    it.each<[string, () => Observable<unknown>]>([
      ['at once', () => throwError(() => new Error('refused'))],
      ['later', () => timer(1).pipe(mergeMap(() => throwError(() => new Error('refused'))))],
    ])('is free again when the caller is told of an error that came %s', async (_, source) => {
      handlers.body = as(source);
      await follow(callHandler(handlers, kind));
      expect(handlers.log).toEqual(['refused, free']);
    });

    it('is free again when its body throws', async () => {
      handlers.body = () => {
        throw new Error('refused');
      };
      await follow(callHandler(handlers, kind));
      expect(handlers.log).toEqual(['refused, free']);
    });

    it('is found free by the next call, each time', async () => {
      handlers = new Handlers({ wait: 0 });
      handlers.body = as(() => of('done'));
      for (let i = 0; i < 20; i++) {
        await expect(lastValueFrom(callHandler(handlers, kind))).resolves.toBe('done');
      }
    });

    it('lets one call after the other run', async () => {
      let running = 0;
      let most = 0;
      handlers.body = as(() =>
        defer(() => {
          most = Math.max(most, ++running);
          return timer(2).pipe(tap(() => running--));
        }),
      );
      await Promise.all(Array.from({ length: 4 }, () => follow(callHandler(handlers, kind))));
      expect(most).toBe(1);
      expect(handlers.locked).toEqual([]);
    });

    it('gives the error of its lock when that is lost, after its body has settled', async () => {
      handlers.body = as(() =>
        defer(() => {
          void handlers.locks.forceRelease('k');
          return timer(2).pipe(tap(() => handlers.note('body')));
        }),
      );
      const error = await follow(callHandler(handlers, kind));
      expect(error).toBeInstanceOf(LockLostError);
      // A promise is awaited to its end; an observable is left.
      expect(handlers.log).toHaveLength(kind === 'promise' ? 2 : 1);
    });

    it('gives the error of its lock when that is lost while the interceptors go on', async () => {
      handlers.body = as(() => of('done'));
      const commit: Around = (next) =>
        next.handle().pipe(tap({ next: () => void handlers.locks.forceRelease('k') }), delay(2));
      await expect(
        follow(callHandler(handlers, kind, { inside: [commit] })),
      ).resolves.toBeInstanceOf(LockLostError);
    });

    it.each<[string, Around]>([
      [
        'taps its end',
        (next) => next.handle().pipe(tap({ complete: () => handlers.note('commit') })),
      ],
      [
        'commits after each value',
        (next) =>
          next.handle().pipe(
            concatMap(async (value) => {
              await settled();
              handlers.note('commit');
              return value;
            }),
          ),
      ],
      [
        'calls the handler later',
        (next) =>
          timer(2).pipe(
            mergeMap(() => next.handle()),
            tap({ complete: () => handlers.note('commit') }),
          ),
      ],
      [
        'begins with a promise',
        (next) =>
          defer(async () => {
            await settled();
            return next.handle();
          }).pipe(
            mergeMap((result) => result),
            delay(1),
            tap({ complete: () => handlers.note('commit') }),
          ),
      ],
      [
        'is an async function',
        (next) =>
          from(
            (async () => {
              const value = await lastValueFrom(next.handle());
              await settled();
              handlers.note('commit');
              return value;
            })(),
          ),
      ],
    ])('is held until an interceptor is done that %s', async (_, around) => {
      handlers.body = as(() => timer(1).pipe(tap(() => handlers.note('body'))));
      await follow(callHandler(handlers, kind, { inside: [around] }));
      expect(handlers.log).toEqual(['body, locked', 'commit, locked', 'complete, free']);
      expect(handlers.asked).toBe(1);
    });

    it('is held while several interceptors end, the inner ones first', async () => {
      handlers.body = as(() => of('done'));
      const tx =
        (name: string): Around =>
        (next) =>
          next.handle().pipe(delay(1), tap({ complete: () => handlers.note(name) }));
      await follow(callHandler(handlers, kind, { inside: [tx('class'), tx('method')] }));
      expect(handlers.log).toEqual(['method, locked', 'class, locked', 'complete, free']);
    });

    it('is not held any more for interceptors outside', async () => {
      handlers.body = as(() => of('done'));
      const outside: Around = (next) =>
        next.handle().pipe(tap({ complete: () => handlers.note('outside') }));
      await follow(callHandler(handlers, kind, { outside: [outside] }));
      expect(handlers.log).toEqual(['outside, free', 'complete, free']);
    });

    it('works as well when nothing comes between it and its interceptor', async () => {
      for (const source of [of('done'), throwError(() => new Error('refused'))]) {
        handlers.body = as(() => source);
        await follow(
          callDirectly(handlers, kind, (method) =>
            defer(async () => method()).pipe(
              mergeMap((result) => (result instanceof Observable ? result : of(result))),
            ),
          ),
        );
      }
      expect(handlers.log).toEqual(['complete, free', 'refused, free']);
    });
  });

  it('gives an error that its promise rejects with to nobody before it is free', async () => {
    handlers.body = () => Promise.reject(new Error('refused'));
    await follow(callDirectly(handlers, 'promise', (method) => from(method() as Promise<unknown>)));
    expect(handlers.log).toEqual(['refused, free']);
  });
});

/** Makes the handler's body settle when the test says so. */
const body = (): Deferred<unknown> => {
  const done = new Deferred<unknown>();
  handlers.body = () => done.promise;
  return done;
};

describe('a body that runs on when the chain has ended (R23)', () => {
  it.each<[string, (done: Deferred<unknown>) => void]>([
    ['resolves', (done) => done.resolve('late')],
    ['rejects', (done) => done.reject(new Error('late'))],
  ])('keeps its lock until it %s; the error of an inner timeout passes at once', async (_, end) => {
    const done = body();
    const inside: Around[] = [(next) => next.handle().pipe(timeout(5))];
    await follow(callHandler(handlers, 'promise', { inside }));
    expect(handlers.log).toEqual(['Timeout has occurred, locked']);
    await lastValueFrom(timer(LONGER_THAN_A_RELEASE));
    expect(handlers.locked).toEqual(['k']);
    end(done);
    await until(() => handlers.locked.length === 0);
  });

  it('keeps its lock when the caller leaves', async () => {
    const done = body();
    const subscription = callHandler(handlers, 'promise').subscribe();
    await until(() => handlers.locked.length === 1);
    subscription.unsubscribe();
    await lastValueFrom(timer(LONGER_THAN_A_RELEASE));
    expect(handlers.locked).toEqual(['k']);
    done.resolve('late');
    await until(() => handlers.locked.length === 0);
  });

  it('does not hold up a chain that completes without it', async () => {
    const done = body();
    const inside: Around[] = [(next) => race(next.handle(), timer(5).pipe(map(() => 'instead')))];
    await expect(follow(callHandler(handlers, 'promise', { inside }))).resolves.toBe('instead');
    expect(handlers.log).toEqual(['complete, locked']);
    done.resolve('late');
    await until(() => handlers.locked.length === 0);
  });

  it('keeps others out as long as it runs', async () => {
    const done = body();
    const inside: Around[] = [(next) => next.handle().pipe(timeout(5))];
    await follow(callHandler(handlers, 'promise', { inside }));
    handlers.body = () => {
      handlers.note('second body');
      return Promise.resolve();
    };
    const second = follow(callHandler(handlers, 'promise'));
    await settled();
    done.resolve('late');
    await second;
    expect(handlers.log.slice(1)).toEqual(['second body, locked', 'complete, free']);
  });

  it('and gives an observable that nobody can subscribe to any more gives its lock back', async () => {
    const done = body();
    const inside: Around[] = [(next) => next.handle().pipe(timeout(5))];
    await follow(callHandler(handlers, 'promiseOfObservable', { inside }));
    await lastValueFrom(timer(LONGER_THAN_A_RELEASE));
    expect(handlers.locked).toEqual(['k']);
    done.resolve(of('late'));
    await until(() => handlers.locked.length === 0);
  });
});

/** What the backend was asked for. */
const order = (): string[] =>
  handlers.driver.calls.map(
    ({ operation, request }) => `${operation} ${(request as { key: string }).key}`,
  );

describe('several locks', () => {
  it('are all kept until the chain has ended, and the last one is released first', async () => {
    const inside: Around[] = [
      (next) => next.handle().pipe(tap({ complete: () => handlers.log.push(...handlers.locked) })),
    ];
    await follow(callHandler(handlers, 'twice', { inside }));
    expect(handlers.log).toEqual(['inner', 'outer', 'complete, free']);
    expect(order()).toEqual(['acquire outer', 'acquire inner', 'release inner', 'release outer']);
  });

  it('may turn out to be the same', async () => {
    const call = { args: ['a', 'a'] };
    await expect(follow(callHandler(handlers, 'transfer', call))).resolves.toBe('done');
    expect(order()).toEqual(['acquire account:a', 'release account:a']);
  });

  it('of a handler that calls itself are its own, and given back when each is done', async () => {
    handlers.body = async () => handlers.locks.current()?.keys;
    await expect(follow(callHandler(handlers, 'recursive', { args: [3] }))).resolves.toEqual(['k']);
    expect(order()).toEqual(['acquire k', 'release k']);
  });

  it('of other methods that it calls are released by those', async () => {
    handlers.body = async () => {
      if (handlers.log.length > 0) {
        return 'inner';
      }
      handlers.note('body');
      await handlers.keyed('7');
      handlers.log.push(...handlers.locked);
      return 'done';
    };
    await follow(callHandler(handlers, 'promise'));
    expect(handlers.log).toEqual(['body, locked', 'k', 'complete, free']);
  });

  it('of different keys, that a decorator above makes of one call, are all kept', async () => {
    handlers.body = async (id) => id;
    const call = callDirectly(handlers, 'keyed', () =>
      from(Promise.all(['a', 'b'].map((id) => handlers.keyed(id)))).pipe(
        tap(() => handlers.log.push(...handlers.locked)),
      ),
    );
    await expect(follow(call)).resolves.toEqual(['a', 'b']);
    expect(handlers.log).toEqual(['k:a', 'k:b', 'complete, free']);
  });
});
