import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { currentLock } from '../../../lib/core/frames.js';
import { WithLock } from '../../../lib/decorators/with-lock.decorator.js';
import { LockConfigError } from '../../../lib/errors/lock-config.error.js';
import { LockLostError } from '../../../lib/errors/lock-lost.error.js';
import { LockTimeoutError } from '../../../lib/errors/lock-timeout.error.js';
import { lockKey } from '../../../lib/key/lock-key.js';
import { LockService } from '../../../lib/lock.service.js';
import { attachLocks } from '../../../lib/testing/attach-locks.js';
import { TestLockDriver } from '../../../lib/testing/test-lock.driver.js';
import { Deferred } from '../../support/deferred.js';
import { watch } from '../../support/outcome.js';
import { passUntil, useVirtualTimers } from '../../support/virtual-timers.js';
import { Bench, decorate, settled } from './support.js';

class Orders {
  readonly name = 'orders';
  running = 0;
  mostAtOnce = 0;
  runs = 0;
  body: () => unknown = () => undefined;

  @WithLock('order:<0>')
  async pay(_id: string, ..._rest: unknown[]): Promise<unknown> {
    return this.play();
  }

  @WithLock(['account:<0>', 'account:<1>'])
  async transfer(_from: string, _to: string): Promise<unknown> {
    return this.play();
  }

  @WithLock((id: string) => lockKey`order:${id}`)
  sync(_id: string): Promise<unknown> {
    return this.body() as Promise<unknown>;
  }

  @WithLock('a')
  @WithLock('b')
  async twice(): Promise<unknown> {
    return this.play();
  }

  @WithLock('fac:<0>')
  async faculty(n: number): Promise<number> {
    return n <= 1 ? 1 : n * (await this.faculty(n - 1));
  }

  @WithLock('count')
  async countDown(n: number): Promise<number> {
    return n === 0 ? 0 : 1 + (await this.countDown(n - 1));
  }

  private async play(): Promise<unknown> {
    this.runs++;
    this.running++;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.running);
    try {
      return await this.body();
    } finally {
      this.running--;
    }
  }
}

describe('a locked method that returns a promise', () => {
  it('gets its object and its arguments, and gives what the original gives', async () => {
    class Echo {
      readonly name = 'echo';

      @WithLock('k')
      async all(...args: unknown[]): Promise<unknown> {
        return [this.name, this, args];
      }
    }
    const { object } = new Bench(Echo);
    const argument = {};
    await expect(object.all(argument, undefined, 1)).resolves.toEqual([
      'echo',
      object,
      [argument, undefined, 1],
    ]);
    const [, , args] = (await object.all(argument)) as [string, Echo, unknown[]];
    expect(args[0]).toBe(argument);
  });

  it('is held while the body runs, and not after', async () => {
    const bench = new Bench(Orders);
    const done = new Deferred<string>();
    bench.object.body = () => done.promise;
    const paid = watch(bench.object.pay('7'));
    await settled();
    expect(bench.locked).toEqual(['order:7']);
    expect(paid.settled).toBe(false);
    done.resolve('receipt');
    await settled();
    expect(paid.get()).toBe('receipt');
    expect(bench.locked).toEqual([]);
  });

  it('has been released when its promise settles', async () => {
    const bench = new Bench(Orders);
    await bench.object.pay('7');
    expect(bench.locked).toEqual([]);
    bench.object.body = () => Promise.reject(new Error('refused'));
    await bench.object.pay('7').catch(() => undefined);
    expect(bench.locked).toEqual([]);
  });

  it.each([
    ['rejects', () => Promise.reject(new TypeError('refused'))],
    [
      'throws',
      () => {
        throw new TypeError('refused');
      },
    ],
  ])('gives the very error of a body that %s, and releases', async (_, body) => {
    const bench = new Bench(Orders);
    bench.object.body = body;
    for (const method of ['pay', 'sync'] as const) {
      await expect(bench.object[method]('7')).rejects.toThrow(new TypeError('refused'));
      expect(bench.locked).toEqual([]);
    }
  });

  it('lets two calls with one key run one after the other, and others at once', async () => {
    const bench = new Bench(Orders);
    bench.object.body = () => settled();
    await Promise.all(Array.from({ length: 5 }, () => bench.object.pay('7')));
    expect(bench.object.mostAtOnce).toBe(1);
    await Promise.all(['1', '2', '3'].map((id) => bench.object.pay(id)));
    expect(bench.object.mostAtOnce).toBe(3);
  });

  it('locks the same as lockKey does by hand', async () => {
    const bench = new Bench(Orders);
    const lock = await bench.locks.acquire(lockKey`order:${'a:b'}`);
    await expect(new Bench(Orders).object.pay('a:b')).resolves.toBeUndefined();
    const paid = watch(bench.object.pay('a:b'));
    await settled();
    expect(paid.settled).toBe(false);
    await lock.release();
    await settled();
    expect(paid.settled).toBe(true);
  });

  it('shows its lock to the body, and to nobody else', async () => {
    const bench = new Bench(Orders);
    bench.object.body = async () => {
      await settled();
      return [bench.locks.current()?.keys, currentLock()?.fencingToken];
    };
    const [keys, token] = (await bench.object.pay('7')) as [string[], bigint];
    expect(keys).toEqual(['order:7']);
    expect(token).toBeTypeOf('bigint');
    const paid = bench.object.pay('7');
    expect(currentLock()).toBeUndefined();
    await paid;
    expect(currentLock()).toBeUndefined();
  });

  it('takes all of several keys, in one order, and each once', async () => {
    const bench = new Bench(Orders);
    bench.object.body = () => [...bench.locked].toSorted();
    await expect(bench.object.transfer('b', 'a')).resolves.toEqual(['account:a', 'account:b']);
    await expect(bench.object.transfer('a', 'a')).resolves.toEqual(['account:a']);
    const both = Array.from({ length: 20 }, (_, i) =>
      i % 2 ? bench.object.transfer('a', 'b') : bench.object.transfer('b', 'a'),
    );
    await Promise.all(both);
    expect(bench.locked).toEqual([]);
  });

  it('takes both of two locks, the outer one first, and releases the inner one first', async () => {
    const bench = new Bench(Orders);
    bench.object.body = () => [...bench.locked].toSorted();
    await expect(bench.object.twice()).resolves.toEqual(['a', 'b']);
    const order = bench.driver.calls.map(
      ({ operation, request }) => `${operation} ${(request as { key: string }).key}`,
    );
    expect(order).toEqual(['acquire a', 'acquire b', 'release b', 'release a']);
  });

  it('does not take the inner one of two locks, nor run, when the outer one is busy', async () => {
    const bench = new Bench(Orders, { wait: 0 });
    const lock = await bench.locks.acquire('a');
    await expect(bench.object.twice()).rejects.toBeInstanceOf(LockTimeoutError);
    await lock.release();
    await bench.locks.acquire('b');
    await expect(bench.object.twice()).rejects.toBeInstanceOf(LockTimeoutError);
    expect(bench.object.runs).toBe(0);
    expect(bench.locked).toEqual(['b']);
  });

  it('may call itself: with the same key it joins, with another it takes that too', async () => {
    const bench = new Bench(Orders);
    await expect(bench.object.countDown(5)).resolves.toBe(5);
    expect(bench.asked).toBe(1);
    await expect(bench.object.faculty(4)).resolves.toBe(24);
    expect(bench.asked).toBe(5);
    expect(bench.locked).toEqual([]);
  });

  it('may be called by hand-held locks on the same key, and call them', async () => {
    const bench = new Bench(Orders);
    bench.object.body = () => bench.locks.withLock('order:7', () => 'inner');
    await expect(bench.locks.withLock('order:7', () => bench.object.pay('7'))).resolves.toBe(
      'inner',
    );
    expect(bench.asked).toBe(1);
  });

  it('is refused inside itself with reentrant: false', async () => {
    class Strict {
      @WithLock('k', { reentrant: false })
      async outer(): Promise<void> {
        await this.outer();
      }
    }
    const bench = new Bench(Strict);
    await expect(bench.object.outer()).rejects.toMatchObject({ code: 'LOCK_DEADLOCK' });
    expect(bench.locked).toEqual([]);
  });

  it('asks the backend before it returns, so that callers are served in their order', () => {
    const bench = new Bench(Orders);
    void bench.object.pay('7');
    expect(bench.asked).toBe(1);
    expect(bench.locked).toEqual(['order:7']);
  });

  it('never throws: what goes wrong before the call rejects', async () => {
    const outcomes: unknown[] = [];
    expect(() => outcomes.push(watch(new Orders().pay('7')))).not.toThrow();
    await settled();
    expect(outcomes).toMatchObject([{ error: expect.any(LockConfigError) }]);
  });

  it('takes what the body gives for the result, though it be no promise', async () => {
    class Plain {
      sync(): unknown {
        return 5;
      }
    }
    decorate(Plain.prototype, 'sync', WithLock('k'));
    const bench = new Bench(Plain);
    await expect(bench.object.sync()).resolves.toBe(5);
    expect(bench.locked).toEqual([]);
  });

  it('works on a frozen object, through a bound method and through a spy', async () => {
    const bench = new Bench(Orders);
    const pay = bench.object.pay.bind(bench.object);
    await expect(pay('7')).resolves.toBeUndefined();
    const spy = vi.spyOn(bench.object, 'pay');
    await expect(bench.object.pay('7')).resolves.toBeUndefined();
    expect(spy).toHaveBeenCalledOnce();
    class Frozen {
      constructor() {
        Object.freeze(this);
      }

      @WithLock('k')
      async work(): Promise<string> {
        return 'done';
      }
    }
    await expect(new Bench(Frozen).object.work()).resolves.toBe('done');
  });
});

describe('a lock that is lost while a promise runs', () => {
  it('aborts its signal at once; the body is awaited, and then it is a LockLostError', async () => {
    const bench = new Bench(Orders);
    const done = new Deferred<string>();
    let signal: AbortSignal | undefined;
    bench.object.body = () => {
      signal = bench.locks.current()?.signal;
      return done.promise;
    };
    const paid = watch(bench.object.pay('7'));
    await settled();
    await bench.locks.forceRelease('order:7');
    expect(signal?.aborted).toBe(true);
    expect(signal?.reason).toBeInstanceOf(LockLostError);
    await settled();
    expect(paid.settled).toBe(false);
    done.resolve('too late');
    await settled();
    expect(paid.error).toBe(signal?.reason);
  });

  it('is told instead of the error of the body, which is its cause', async () => {
    const bench = new Bench(Orders);
    const consequence = new Error('rolled back');
    bench.object.body = async () => {
      await bench.locks.forceRelease('order:7');
      throw consequence;
    };
    const error: unknown = await bench.object.pay('7').catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(LockLostError);
    expect((error as Error).cause).toBe(consequence);
  });

  it('is noticed at the next renewal when the backend lost it', async () => {
    onTestFinished(useVirtualTimers());
    const bench = new Bench(Orders);
    const lost = new Deferred<unknown>();
    bench.object.body = () => {
      const { signal } = bench.locks.current()!;
      signal.addEventListener('abort', () => lost.resolve(signal.reason));
      bench.driver.lose('order:7');
      return lost.promise;
    };
    await expect(passUntil(bench.object.pay('7'))).rejects.toMatchObject({ reason: 'taken' });
  });
});

describe('a named service', () => {
  class Bills {
    @WithLock('k', { service: 'billing' })
    async billed(): Promise<string[]> {
      return this.keys();
    }

    @WithLock('k')
    async plain(): Promise<string[]> {
      return this.keys();
    }

    @WithLock('k')
    @WithLock('k', { service: 'billing' })
    async both(): Promise<string[]> {
      return this.keys();
    }

    keys: () => string[] = () => [];
  }

  it('keeps the locks of the methods that name it, and no others', async () => {
    const drivers = { default: new TestLockDriver(), billing: new TestLockDriver() };
    const bills = new Bills();
    bills.keys = () =>
      Object.entries(drivers).flatMap(([name, driver]) =>
        driver.list().map(({ key }) => `${name} ${key}`),
      );
    attachLocks(bills, new LockService(drivers.default));
    attachLocks(bills, new LockService({ driver: drivers.billing, name: 'billing' }), 'billing');
    await expect(bills.billed()).resolves.toEqual(['billing k']);
    await expect(bills.plain()).resolves.toEqual(['default k']);
    await expect(bills.both()).resolves.toEqual(['default k', 'billing k']);
    expect(bills.keys()).toEqual([]);
  });
});

describe('options', () => {
  class Orders2 {
    @WithLock('k', { ttl: '2s', minHold: '500ms' })
    async short(): Promise<void> {}

    @WithLock('k')
    async plain(): Promise<void> {}
  }

  it('of the method go before those of the service', async () => {
    const bench = new Bench(Orders2, { ttl: '9s' });
    await bench.object.plain();
    await bench.object.short();
    expect(bench.driver.calls).toMatchObject([
      { operation: 'acquire', request: { ttl: 9000 } },
      { operation: 'release' },
      { operation: 'acquire', request: { ttl: 2000 } },
      { operation: 'release', request: { retainFor: expect.any(Number) } },
    ]);
  });

  it("are those of each object's own service", async () => {
    const [one, other] = [new Bench(Orders2, { ttl: '9s' }), new Bench(Orders2, { ttl: '7s' })];
    await one.object.plain();
    await other.object.plain();
    await one.object.plain();
    const ttls = [one, other].map(({ driver }) =>
      driver.calls.flatMap(({ operation, request }) =>
        operation === 'acquire' ? [request.ttl] : [],
      ),
    );
    expect(ttls).toEqual([[9000, 9000], [7000]]);
  });

  it('put the namespace before the key', async () => {
    const bench = new Bench(Orders, { namespace: 'app' });
    bench.object.body = () => bench.locked;
    await expect(bench.object.pay('7')).resolves.toEqual(['app:order:7']);
  });
});
