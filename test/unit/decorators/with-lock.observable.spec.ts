import {
  concat,
  defer,
  EMPTY,
  finalize,
  lastValueFrom,
  map,
  mergeMap,
  Observable,
  of,
  repeat,
  retry,
  Subject,
  throwError,
  timer,
  toArray,
} from 'rxjs';
import { beforeEach, describe, expect, it } from 'vitest';
import { currentLock } from '../../../lib/core/frames.js';
import { WithLock } from '../../../lib/decorators/with-lock.decorator.js';
import type { LockHandle } from '../../../lib/interfaces/lock-handle.interface.js';
import type {
  ReleaseRequest,
  ReleaseResult,
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

describe('a locked method that returns an observable', () => {
  it('does nothing before it is subscribed to', async () => {
    const observable = bench.object.rows();
    await settled();
    expect(observable).toBeInstanceOf(Observable);
    expect(bench.asked).toBe(0);
    expect(bench.object.calls).toBe(0);
  });

  it('gets its object and its arguments', async () => {
    class Echo {
      readonly name = 'echo';

      @WithLock('k')
      all(...args: unknown[]): Observable<unknown> {
        return of([this.name, args]);
      }
    }
    await expect(lastValueFrom(new Bench(Echo).object.all(1, undefined))).resolves.toEqual([
      'echo',
      [1, undefined],
    ]);
  });

  it('is held from the subscription to the end', async () => {
    const source = new Subject<string>();
    bench.object.source = () => source;
    const told = listen(bench.object.rows());
    expect(bench.locked).toEqual(['k']);
    source.next('a');
    await settled();
    expect(told).toEqual(['a']);
    expect(bench.locked).toEqual(['k']);
    source.complete();
    await settled();
    expect(told).toEqual(['a', 'complete']);
    expect(bench.locked).toEqual([]);
  });

  it('takes a lock of its own for each subscription, one after the other', async () => {
    const sources = [new Subject<string>(), new Subject<string>()];
    let next = 0;
    bench.object.source = () => sources[next++]!;
    const observable = bench.object.rows();
    const [first, second] = [listen(observable), listen(observable)];
    expect(bench.object.calls).toBe(1);
    sources[0]!.next('a');
    sources[0]!.complete();
    await settled();
    expect(first).toEqual(['a', 'complete']);
    expect(bench.object.calls).toBe(2);
    sources[1]!.next('b');
    sources[1]!.complete();
    await settled();
    expect(second).toEqual(['b', 'complete']);
    expect(bench.locked).toEqual([]);
  });

  it('takes all of several keys, and both of two locks', async () => {
    bench.object.source = () => defer(() => of([...bench.locked].toSorted()));
    await expect(lastValueFrom(bench.object.both())).resolves.toEqual(['k', 'l']);
    await expect(lastValueFrom(bench.object.twice())).resolves.toEqual(['a', 'b']);
    expect(bench.locked).toEqual([]);
  });

  it('may call itself: it joins', async () => {
    await expect(lastValueFrom(bench.object.nested(3).pipe(toArray()))).resolves.toEqual([
      'a',
      'b',
    ]);
    expect(bench.asked).toBe(1);
    expect(bench.locked).toEqual([]);
  });

  it('shows its lock to the body and its source, and to nobody else', async () => {
    const seen: (LockHandle | undefined)[] = [];
    bench.object.source = () => {
      seen.push(currentLock());
      return timer(1).pipe(map(() => seen.push(bench.locks.current('k'))));
    };
    const done = lastValueFrom(bench.object.rows());
    expect(currentLock()).toBeUndefined();
    await done;
    expect(seen.map((lock) => lock?.keys)).toEqual([['k'], ['k']]);
    expect(currentLock()).toBeUndefined();
  });

  it('covers its consumers: who takes the same lock for each value joins', async () => {
    const quick = new Bench(Orders, { wait: 0 });
    quick.object.source = () => timer(1);
    const save = (): Promise<string> => quick.locks.withLock('k', () => 'saved');
    await expect(lastValueFrom(quick.object.rows().pipe(mergeMap(save)))).resolves.toBe('saved');
    expect(quick.asked).toBe(1);
    expect(quick.locked).toEqual([]);
  });

  it('does not cover those whose values come from elsewhere', async () => {
    const source = new Subject<string>();
    bench.object.source = () => source;
    const seen: unknown[] = [];
    bench.object.rows().subscribe(() => seen.push(currentLock()?.keys));
    source.next('a');
    expect(seen).toEqual([undefined]);
    source.complete();
    await settled();
  });

  it.each<[string, () => Observable<unknown>, unknown[]]>([
    ['emits and completes at once', () => of(1, 2), [1, 2, 'complete']],
    ['is empty', () => EMPTY, ['complete']],
    ['errs at once', () => throwError(() => new Error('refused')), ['refused']],
    [
      'emits and errs at once',
      () =>
        concat(
          of(1),
          throwError(() => new Error('refused')),
        ),
      [1, 'refused'],
    ],
    ['emits later', () => timer(1), [0, 'complete']],
    ['is a promise after all', () => Promise.resolve(5) as never, [5, 'complete']],
  ])('follows a source that %s, and releases', async (_, source, expected) => {
    bench.object.source = source;
    const told = listen(bench.object.rows());
    await lastValueFrom(timer(5));
    expect(told).toEqual(expected);
    expect(bench.locked).toEqual([]);
  });

  it('errs when the body throws, and releases', async () => {
    bench.object.source = () => {
      throw new Error('refused');
    };
    const told = listen(bench.object.rows());
    await settled();
    expect(told).toEqual(['refused']);
    expect(bench.locked).toEqual([]);
  });

  it('errs when the body gives nothing to subscribe to, and releases', async () => {
    bench.object.source = () => undefined as never;
    const told = listen(bench.object.rows());
    await settled();
    expect(told).toEqual([expect.stringContaining('undefined')]);
    expect(bench.locked).toEqual([]);
  });
});

describe('its end', () => {
  /** Releases when the test says so. */
  class SlowRelease extends TestLockDriver {
    readonly mayRelease = new Deferred();

    override async release(request: ReleaseRequest): Promise<ReleaseResult> {
      await this.mayRelease.promise;
      return super.release(request);
    }
  }

  let driver: SlowRelease;
  let orders: Orders;

  beforeEach(() => {
    driver = new SlowRelease();
    orders = new Orders();
    attachLocks(orders, new LockService(driver));
  });

  it.each<[string, () => Observable<unknown>, unknown[]]>([
    ['completing', () => of('a'), ['a', 'complete']],
    ['erring', () => throwError(() => new Error('refused')), ['refused']],
  ])('is told after the release: %s', async (_, source, expected) => {
    orders.source = source;
    const told = listen(orders.rows());
    await settled();
    expect(told).toEqual(expected.slice(0, -1));
    driver.mayRelease.resolve();
    await settled();
    expect(told).toEqual(expected);
    expect(driver.list()).toEqual([]);
  });

  it('comes after the source was left: what its teardown does is done under the lock', async () => {
    const log: string[] = [];
    const source = new Subject<string>();
    orders.source = () =>
      source.pipe(finalize(() => log.push(`left, ${driver.list().length} locked`)));
    orders.rows().subscribe({ complete: () => log.push('complete') });
    source.complete();
    driver.mayRelease.resolve();
    await settled();
    expect(log).toEqual(['left, 1 locked', 'complete']);
  });

  it('is told to nobody who has left meanwhile', async () => {
    const told: unknown[] = [];
    const subscription = orders.rows().subscribe({ complete: () => told.push('complete') });
    await settled();
    subscription.unsubscribe();
    driver.mayRelease.resolve();
    await settled();
    expect(told).toEqual([]);
    expect(driver.list()).toEqual([]);
  });

  it('lets whoever repeats or retries find the lock free', async () => {
    driver.mayRelease.resolve();
    let failures = 2;
    orders.source = () =>
      failures-- > 0 ? throwError(() => new Error('again')) : of(driver.list().length);
    await expect(
      lastValueFrom(orders.rows().pipe(retry(2), repeat(3), toArray())),
    ).resolves.toEqual([1, 1, 1]);
    expect(driver.list()).toEqual([]);
  });
});
