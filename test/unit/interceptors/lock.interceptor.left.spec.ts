import { getEventListeners } from 'node:events';
import {
  catchError,
  finalize,
  first,
  from,
  interval,
  lastValueFrom,
  map,
  merge,
  mergeMap,
  NEVER,
  Observable,
  of,
  race,
  take,
  takeUntil,
  tap,
  throwError,
  timeout,
  timer,
  toArray,
} from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lockIdsOf } from '../../../lib/decorators/locked-method.accessor.js';
import type {
  AcquireRequest,
  Denial,
  Grant,
} from '../../../lib/interfaces/lock-driver.interface.js';
import { Entrance, entranceFor } from '../../../lib/interceptors/visit.js';
import type { LockHandle } from '../../../lib/interfaces/lock-handle.interface.js';
import { TestLockDriver } from '../../../lib/testing/test-lock.driver.js';
import { Deferred } from '../../support/deferred.js';
import { collectGarbage } from '../../support/garbage-collector.js';
import { watch } from '../../support/outcome.js';
import { listen, methodOf, settled, until } from '../decorators/support.js';
import { type Around, callDirectly, callHandler } from './handler-call.js';
import { Handlers, KINDS } from './handlers.js';

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

describe.each(KINDS)(
  'a handler that returns a $kind and waits for its lock',
  ({ kind, of: as }) => {
    let other: LockHandle;
    let runs = 0;

    beforeEach(async () => {
      runs = 0;
      handlers.body = as(() => of(++runs));
      other = await handlers.locks.acquire('k');
    });

    /** What has run, and is locked, once the lock is free. */
    async function consequences(): Promise<unknown> {
      await other.release();
      await settled();
      return { runs, locked: handlers.locked };
    }

    const NONE = { runs: 0, locked: [] };

    it('leaves the line when the caller leaves', async () => {
      const subscription = callHandler(handlers, kind).subscribe();
      await settled();
      subscription.unsubscribe();
      expect(await consequences()).toEqual(NONE);
    });

    it('makes room in the line at once when the caller leaves', async () => {
      const narrow = new Handlers({ maxWaiters: 1 });
      narrow.body = as(() => of('done'));
      const held = await narrow.locks.acquire('k');
      const subscription = callHandler(narrow, kind).subscribe();
      await settled();
      subscription.unsubscribe();
      await settled();
      const told = listen(callHandler(narrow, kind));
      await settled();
      expect(told).toEqual([]);
      await held.release();
      await until(() => told.length > 1);
      expect(told).toEqual(['done', 'complete']);
    });

    it('leaves nothing locked when the caller leaves just as the lock comes', async () => {
      const subscription = callHandler(handlers, kind).subscribe();
      await settled();
      // Handed over; the handler has not been told yet.
      const released = other.release();
      subscription.unsubscribe();
      await released;
      await until(() => handlers.locked.length === 0);
      expect(handlers.locked).toEqual([]);
    });

    it.each<[string, Around, string]>([
      ['an inner timeout()', (next) => next.handle().pipe(timeout(5)), 'Timeout has occurred'],
      ['an inner takeUntil()', (next) => next.handle().pipe(takeUntil(timer(5))), 'complete'],
      [
        'an inner race()',
        (next) => race(next.handle(), timer(5).pipe(map(() => 'instead'))),
        'complete',
      ],
      [
        'an answer instead of the error',
        (next) =>
          next.handle().pipe(
            timeout(5),
            catchError(() => of('instead')),
          ),
        'complete',
      ],
    ])('does not hold up the end of the chain by %s, and never runs', async (_, around, end) => {
      await follow(callHandler(handlers, kind, { inside: [around] }));
      // It is the other that holds the lock.
      expect(handlers.log).toEqual([`${end}, locked`]);
      expect(await consequences()).toEqual(NONE);
    });

    it('leaves the line when a global timeout() ends the call', async () => {
      const outside: Around[] = [(next) => next.handle().pipe(timeout(5))];
      await follow(callHandler(handlers, kind, { outside }));
      expect(await consequences()).toEqual(NONE);
    });
  },
);

describe.each(KINDS.filter(({ kind }) => kind !== 'promise'))(
  'an observable that is left, of a handler that returns a $kind,',
  ({ kind, of: as }) => {
    it.each<[string, Around, string]>([
      ['take()', (next) => next.handle().pipe(take(1)), 'complete'],
      ['first()', (next) => next.handle().pipe(first()), 'complete'],
      [
        'timeout()',
        (next) =>
          next.handle().pipe(
            mergeMap(() => NEVER),
            timeout(5),
          ),
        'Timeout has occurred',
      ],
      [
        'another that errs',
        (next) =>
          merge(
            next.handle(),
            timer(5).pipe(mergeMap(() => throwError(() => new Error('refused')))),
          ),
        'refused',
      ],
      [
        'an answer instead',
        (next) =>
          next.handle().pipe(
            mergeMap(() => NEVER),
            timeout(5),
            catchError(() => of('instead')),
          ),
        'complete',
      ],
    ])('because of %s, is free when the caller is told', async (_, around, end) => {
      handlers.body = as(() => interval(1));
      await follow(callHandler(handlers, kind, { inside: [around] }));
      expect(handlers.log).toEqual([`${end}, free`]);
    });

    it('by the caller is given back at once', async () => {
      let left = 0;
      handlers.body = as(() => interval(1).pipe(finalize(() => left++)));
      await lastValueFrom(callHandler(handlers, kind).pipe(take(2)));
      expect(left).toBe(1);
      await until(() => handlers.locked.length === 0);
    });

    it('is stopped, though it emits without end as soon as it is subscribed to', async () => {
      let emitted = 0;
      function* endless(): Generator<number> {
        for (;;) {
          if (emitted > 1000) {
            throw new Error('It was not stopped');
          }
          yield emitted++;
        }
      }
      handlers.body = as(() => from(endless()));
      const outside: Around[] = [(next) => next.handle().pipe(take(3), toArray())];
      await expect(lastValueFrom(callHandler(handlers, kind, { outside }))).resolves.toEqual([
        0, 1, 2,
      ]);
      expect(emitted).toBe(3);
      await until(() => handlers.locked.length === 0);
    });
  },
);

describe('a chain', () => {
  it('that throws before the handler is called locks nothing', async () => {
    const inside: Around[] = [
      () => {
        throw new Error('refused');
      },
    ];
    await expect(lastValueFrom(callHandler(handlers, 'promise', { inside }))).rejects.toThrow(
      'refused',
    );
    expect(handlers.asked).toBe(0);
  });

  it('that throws after the handler was called gives the lock back when the body has settled', async () => {
    const done = new Deferred<string>();
    handlers.body = () => done.promise;
    let outcome: unknown;
    const call = callDirectly(handlers, 'promise', (method) => {
      outcome = watch(method() as Promise<unknown>);
      throw new Error('refused');
    });
    expect(listen(call)).toEqual(['refused']);
    done.resolve('late');
    await until(() => handlers.locked.length === 0);
    expect(outcome).toBeDefined();
  });

  it('that is left while the backend is being asked leaves nothing locked', async () => {
    class SlowGrant extends TestLockDriver {
      readonly mayAnswer = new Deferred();

      override async acquire(request: AcquireRequest): Promise<Grant | Denial> {
        const answer = await super.acquire(request);
        await this.mayAnswer.promise;
        return answer;
      }
    }
    const driver = new SlowGrant();
    handlers = new Handlers({}, driver);
    let runs = 0;
    handlers.body = async () => runs++;
    const subscription = callHandler(handlers, 'promise').subscribe();
    await until(() => handlers.locked.length === 1);
    subscription.unsubscribe();
    driver.mayAnswer.resolve();
    await until(() => handlers.locked.length === 0);
    expect(runs).toBe(0);
  });

  it('that gives no value is as empty as before', async () => {
    const inside: Around[] = [(next) => next.handle().pipe(mergeMap(() => []))];
    const told = listen(callHandler(handlers, 'promise', { inside }));
    await until(() => told.length > 0);
    expect(told).toEqual(['complete']);
  });

  it('whose consumer throws is not disturbed', async () => {
    handlers.body = () => of('a');
    const told: unknown[] = [];
    const outside: Around[] = [
      (next) =>
        next.handle().pipe(
          map(() => {
            throw new Error('consumer');
          }),
        ),
    ];
    callHandler(handlers, 'observable', { outside }).subscribe({
      error: ({ message }: Error) => told.push(message),
    });
    await until(() => told.length > 0);
    expect(told).toEqual(['consumer']);
    await until(() => handlers.locked.length === 0);
  });
});

describe('onBusy: skip', () => {
  it.each(['skips', 'observableSkips'])(
    'answers an HTTP caller with nothing: %s',
    async (method) => {
      await handlers.locks.acquire('k');
      const told = listen(callHandler(handlers, method));
      await until(() => told.length > 1);
      // Nest waits for the last value, and there must be one.
      expect(told).toEqual([undefined, 'complete']);
    },
  );

  it('gives an empty observable to other callers', async () => {
    await handlers.locks.acquire('k');
    const told = listen(callHandler(handlers, 'observableSkips', { type: 'rpc' }));
    await until(() => told.length > 0);
    expect(told).toEqual(['complete']);
  });
});

describe('nothing is left behind', () => {
  const timers: NodeJS.Timeout[] = [];

  afterEach(() => timers.splice(0).forEach(clearInterval));

  it.each(KINDS)(
    'a request is not kept alive by what its handler began: $kind',
    async ({ kind, of: as }) => {
      handlers.body = as(() => {
        timers.push(setInterval(() => undefined, 1e6));
        return of('done');
      });
      const request = await (async () => {
        const given = { body: 'large' };
        await lastValueFrom(callHandler(handlers, kind, { request: given }));
        return new WeakRef(given);
      })();
      for (let i = 0; i < 5 && request.deref() !== undefined; i++) {
        await lastValueFrom(timer(5));
        collectGarbage();
      }
      expect(timers).toHaveLength(1);
      expect(request.deref()).toBeUndefined();
    },
  );

  it('no listener stays on the signal of the lock', async () => {
    await handlers.locks.withLock('k', async ({ signal }) => {
      for (const { kind, of: as } of KINDS) {
        handlers.body = as(() => of('done'));
        await lastValueFrom(callHandler(handlers, kind));
      }
      expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    });
  });

  it('no caller finds itself in the scope of a handler that has ended', async () => {
    const seen: unknown[] = [];
    const [id] = lockIdsOf(methodOf(Handlers, 'promise')) as [symbol];
    const look: Around = (next) =>
      next.handle().pipe(tap({ complete: () => seen.push(entranceFor(id)) }));
    const call = { inside: [look], outside: [look] };
    await lastValueFrom(callHandler(handlers, 'promise', call));
    expect(seen).toEqual([expect.any(Entrance), undefined]);
    expect(entranceFor(id)).toBeUndefined();
  });

  it('work that a handler left behind takes its lock by itself', async () => {
    const later = new Deferred<unknown>();
    let runs = 0;
    handlers.body = async () => {
      if (runs++ === 0) {
        setTimeout(() => later.resolve(handlers.promise()), 20);
      }
      return handlers.locked.length;
    };
    await lastValueFrom(callHandler(handlers, 'promise'));
    expect(handlers.locked).toEqual([]);
    await expect(later.promise).resolves.toBe(1);
    expect(handlers.locked).toEqual([]);
  });
});
