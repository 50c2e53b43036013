import { AsyncLocalStorage } from 'node:async_hooks';
import { getEventListeners } from 'node:events';
import {
  config,
  finalize,
  from,
  lastValueFrom,
  NEVER,
  Observable,
  shareReplay,
  Subject,
  take,
  throwError,
  timer,
  type Subscriber,
  toArray,
} from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { currentLock } from '../../../lib/core/frames.js';
import { LockLostError } from '../../../lib/errors/lock-lost.error.js';
import type {
  AcquireRequest,
  Denial,
  Grant,
} from '../../../lib/interfaces/lock-driver.interface.js';
import { LockService } from '../../../lib/lock.service.js';
import { attachLocks } from '../../../lib/testing/attach-locks.js';
import { TestLockDriver } from '../../../lib/testing/test-lock.driver.js';
import { Deferred } from '../../support/deferred.js';
import { Orders } from './rows.js';
import { Bench, listen, settled } from './support.js';

let bench: Bench<Orders>;

beforeEach(() => {
  bench = new Bench(Orders);
});

describe('unsubscribing', () => {
  it('releases, and leaves the source', async () => {
    let left = 0;
    bench.object.source = () => NEVER.pipe(finalize(() => left++));
    const subscription = bench.object.rows().subscribe();
    expect(bench.locked).toEqual(['k']);
    subscription.unsubscribe();
    expect(left).toBe(1);
    await settled();
    expect(bench.locked).toEqual([]);
  });

  it('while waiting leaves the line: the body never runs and nothing is locked', async () => {
    const other = await bench.locks.acquire('k');
    const told: unknown[] = [];
    const subscription = bench.object
      .rows()
      .subscribe({ error: (error) => told.push(error), complete: () => told.push('complete') });
    await settled();
    subscription.unsubscribe();
    await other.release();
    await settled();
    expect(bench.object.calls).toBe(0);
    expect(bench.locked).toEqual([]);
    expect(told).toEqual([]);
  });

  it('while waiting makes room in the line at once', async () => {
    const narrow = new Bench(Orders, { maxWaiters: 1 });
    const other = await narrow.locks.acquire('k');
    const subscription = narrow.object.rows().subscribe();
    await settled();
    expect(listen(narrow.object.rows())).toEqual(['LOCK_QUEUE_FULL']);
    subscription.unsubscribe();
    const told = listen(narrow.object.rows());
    await settled();
    expect(told).toEqual([]);
    await other.release();
    await settled();
    expect(told).toEqual(['a', 'b', 'complete']);
  });

  it('while the backend is being asked leaves nothing locked', async () => {
    class SlowGrant extends TestLockDriver {
      readonly mayAnswer = new Deferred();

      override async acquire(request: AcquireRequest): Promise<Grant | Denial> {
        const answer = await super.acquire(request);
        await this.mayAnswer.promise;
        return answer;
      }
    }
    const driver = new SlowGrant();
    const orders = new Orders();
    attachLocks(orders, new LockService(driver));
    const subscription = orders.rows().subscribe();
    expect(driver.list()).toHaveLength(1);
    subscription.unsubscribe();
    driver.mayAnswer.resolve();
    await settled();
    expect(orders.calls).toBe(0);
    expect(driver.list()).toEqual([]);
  });

  it('just when the lock comes leaves nothing locked', async () => {
    const other = await bench.locks.acquire('k');
    const subscription = bench.object.rows().subscribe();
    await settled();
    // The waiter has it now, but has not been told yet.
    void other.release();
    subscription.unsubscribe();
    await settled();
    expect(bench.object.calls).toBe(0);
    expect(bench.locked).toEqual([]);
  });

  it('stops a source that emits without end as soon as it is subscribed to', async () => {
    let emitted = 0;
    function* endless(): Generator<number> {
      for (;;) {
        if (emitted > 1000) {
          throw new Error('It was not stopped');
        }
        yield emitted++;
      }
    }
    bench.object.source = () => from(endless());
    await expect(lastValueFrom(bench.object.rows().pipe(take(3), toArray()))).resolves.toEqual([
      0, 1, 2,
    ]);
    expect(emitted).toBe(3);
    await settled();
    expect(bench.locked).toEqual([]);
  });

  it('by one of those who share it changes nothing for the others', async () => {
    const source = new Subject<string>();
    bench.object.source = () => source;
    const shared = bench.object.rows().pipe(shareReplay({ bufferSize: 1, refCount: true }));
    const subscription = shared.subscribe();
    const told = listen(shared);
    subscription.unsubscribe();
    source.next('a');
    await settled();
    expect(told).toEqual(['a']);
    expect(bench.locked).toEqual(['k']);
    source.complete();
    await settled();
    expect(bench.locked).toEqual([]);
  });
});

/** A source that keeps the event loop busy for so long, and then ends. */
const blocking = (ms: number, end: (subscriber: Subscriber<never>) => void): Observable<never> =>
  new Observable((subscriber) => {
    const until = performance.now() + ms;
    while (performance.now() < until);
    end(subscriber);
  });

describe('a lock that is lost', () => {
  it('unsubscribes from the source at once, and errs with LockLostError', async () => {
    let left = 0;
    let signal: AbortSignal | undefined;
    bench.object.source = () => {
      signal = currentLock()?.signal;
      return NEVER.pipe(finalize(() => left++));
    };
    const errors: unknown[] = [];
    bench.object.rows().subscribe({ error: (error) => errors.push(error) });
    void bench.locks.forceRelease('k');
    expect(left).toBe(1);
    await settled();
    expect(errors).toEqual([expect.any(LockLostError)]);
    expect(errors[0]).toBe(signal?.reason);
  });

  it('while the source emits as soon as it is subscribed to ends it there', async () => {
    bench.object.source = () =>
      new Observable((subscriber) => {
        subscriber.next(1);
        void bench.locks.forceRelease('k');
        subscriber.next(2);
        subscriber.complete();
      });
    const told = listen(bench.object.rows());
    await settled();
    expect(told).toEqual([1, 'LOCK_LOST']);
  });

  it('before the source was subscribed to leaves it alone', async () => {
    const other = await bench.locks.acquire('k');
    const told = listen(bench.object.rows());
    await settled();
    // Handed over, and lost before the next in line is told.
    void other.release();
    void bench.locks.forceRelease('k');
    await settled();
    expect(told).toEqual(['LOCK_LOST']);
    expect(bench.object.calls).toBe(0);
  });

  it('by the clock alone is found out at the end', async () => {
    const quick = new Bench(Orders, { ttl: 30, autoExtend: false });
    quick.object.source = () => blocking(60, (subscriber) => subscriber.complete());
    const completed = listen(quick.object.rows());
    await settled();
    expect(completed).toEqual(['LOCK_LOST']);
    quick.object.source = () =>
      blocking(60, (subscriber) => subscriber.error(new Error('consequence')));
    const erred = listen(quick.object.rows());
    await settled();
    expect(erred).toEqual(['LOCK_LOST']);
  });

  it('is told in the async context of the subscriber, not of whoever found out', async () => {
    const contexts = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    bench.object.source = () => NEVER;
    contexts.run('subscriber', () =>
      bench.object.rows().subscribe({ error: () => seen.push(contexts.getStore()) }),
    );
    await contexts.run('another', () => bench.locks.forceRelease('k'));
    await settled();
    expect(seen).toEqual(['subscriber']);
  });

  it('does not matter after the end', async () => {
    const told = listen(bench.object.rows());
    await settled();
    await bench.locks.forceRelease('k');
    await settled();
    expect(told).toEqual(['a', 'b', 'complete']);
  });

  it('of several keys ends it as well', async () => {
    bench.object.source = () => NEVER;
    const told = listen(bench.object.both());
    await settled();
    await bench.locks.forceRelease('l');
    await settled();
    expect(told).toEqual(['LOCK_LOST']);
    await settled();
    expect(bench.locked).toEqual([]);
  });
});

describe('nothing is left behind', () => {
  afterEach(() => {
    config.onUnhandledError = null;
  });

  it('on the signal of a lock that others hold on to', async () => {
    await bench.locks.withLock('k', async ({ signal }) => {
      for (let i = 0; i < 20; i++) {
        await lastValueFrom(bench.object.rows());
        bench.object.rows().pipe(take(1)).subscribe();
        await settled();
      }
      expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    });
  });

  it('when a consumer throws: RxJS reports that, and the source goes on', async () => {
    const reported: string[] = [];
    config.onUnhandledError = (error: Error) => reported.push(error.message);
    let completed = false;
    bench.object.rows().subscribe({
      next: (value) => {
        throw new Error(`consumer of ${String(value)}`);
      },
      complete: () => {
        completed = true;
      },
    });
    await lastValueFrom(timer(5));
    expect(reported).toEqual(['consumer of a', 'consumer of b']);
    expect(completed).toBe(true);
    expect(bench.locked).toEqual([]);
  });

  it('when nobody handles the error: RxJS reports it, and no promise is left unhandled', async () => {
    const reported: string[] = [];
    config.onUnhandledError = (error: Error) => reported.push(error.message);
    bench.object.source = () => throwError(() => new Error('refused'));
    bench.object.rows().subscribe();
    await lastValueFrom(timer(5));
    expect(reported).toEqual(['refused']);
  });
});
