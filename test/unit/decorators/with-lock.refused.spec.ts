import { describe, expect, it } from 'vitest';
import { attachLockService } from '../../../lib/decorators/service-slot.js';
import { WithLock } from '../../../lib/decorators/with-lock.decorator.js';
import { LockConfigError } from '../../../lib/errors/lock-config.error.js';
import { LockKeyError } from '../../../lib/errors/lock-key.error.js';
import type { LockService } from '../../../lib/lock.service.js';
import { lastValueFrom, Observable, of } from 'rxjs';
import { Bench, decorate, errorOf, listen, methodOf } from './support.js';

type Decorator = (target: object, name: string, descriptor: never) => void;

/** Loads a class with this decorator on its method `pay`. */
function load(decorator: () => unknown): void {
  class Orders {
    async pay(_id: string): Promise<void> {}
  }
  decorate(Orders.prototype, 'pay', decorator() as Decorator);
}

describe('a class is refused when it is loaded', () => {
  it.each([
    ['a template is malformed', () => WithLock('order:<0'), /bracket without its counterpart/],
    ['a placeholder is none', () => WithLock('order:<id>'), /<id> is no placeholder/],
    ['values could run into one another', () => WithLock('<0>-<1>'), /between <0> and <1>/],
    ['one of several templates is malformed', () => WithLock(['fine', '{0']), /bracket/],
    ['the key is empty', () => WithLock(''), /a key must not be empty/],
    ['there is no key', () => WithLock(undefined as never), /needs a key, an array of keys/],
    ['the key is a number', () => WithLock(5 as never), /needs a key, an array of keys/],
    ['there are no keys', () => WithLock([]), /needs a key, an array of keys/],
    ['one of the keys is none', () => WithLock(['a', 5 as never]), /needs a key, an array of/],
    ['one of the keys is missing', () => WithLock([undefined as never]), /needs a key, an array/],
  ])('for its key: %s', (_, decorator, why) => {
    const error = errorOf(() => load(decorator));
    expect(error).toBeInstanceOf(LockConfigError);
    expect(error.message).toMatch(/^Orders\.pay: /);
    expect(error.message).toMatch(why);
  });

  it.each<[object, RegExp]>([
    [{ ttl: '30 parsecs' }, /Option `ttl` is "30 parsecs"/],
    [{ ttl: Infinity }, /Option `ttl`/],
    [{ ttl: 5 }, /Option `ttl` is 5/],
    [{ wait: -1 }, /Option `wait` is -1/],
    [{ onBusy: 'ignore' }, /Option `onBusy` is "ignore"; it must be 'throw', 'skip' or a function/],
    [{ onBusy: null }, /Option `onBusy` is null/],
    [{ onUnavailable: 'skip' }, /Option `onUnavailable` is "skip"; it must be a function/],
    [{ returns: 'value' }, /Option `returns` is "value"; it must be 'promise' or 'observable'/],
    [{ service: '' }, /Option `service` is ""/],
    [{ service: 5 }, /Option `service` is 5/],
    [{ retry: { min: 100, max: 10 } }, /`retry\.max` is 10 ms; it must be at least `retry\.min`/],
    [{ minHold: '2s', maxHold: '1s' }, /`maxHold` is 1 s; it must be at least `minHold`/],
    [{ signal: new AbortController().signal }, /Unknown option `signal`/],
    [{ wiat: 0 }, /Unknown option `wiat`; did you mean `wait`\?/],
    [{ retry: { maxx: 1 } }, /Unknown option `retry\.maxx`; did you mean `retry\.max`\?/],
  ])('for its options: %o', (options, why) => {
    const error = errorOf(() => load(() => WithLock('k', options)));
    expect(error).toBeInstanceOf(LockConfigError);
    expect(error.message).toMatch(/^@WithLock of Orders\.pay: /);
    expect(error.message).toMatch(why);
  });

  it.each([null, 5, 'skip', ['skip']])('for options that are none: %j', (options) => {
    const error = errorOf(() => load(() => WithLock('k', options as never)));
    expect(error).toBeInstanceOf(LockConfigError);
    expect(error.message).toMatch(/^@WithLock of Orders\.pay: Option `options`/);
  });

  it('takes options that are undefined for ones that are not given', () => {
    const options = { ttl: undefined, onBusy: undefined } as object;
    expect(() => load(() => WithLock('k', options))).not.toThrow();
  });
});

class Odd {
  static async ofTheClass(): Promise<void> {}

  get accessor(): () => Promise<void> {
    return async () => undefined;
  }

  set accessor(_value: () => Promise<void>) {}
}

describe('@WithLock stands on methods of objects only', () => {
  it.each<[string, () => void]>([
    ['a class', () => WithLock('k')(Odd)],
    ['a static method', () => decorate(Odd, 'ofTheClass', WithLock('k'))],
    ['an accessor', () => decorate(Odd.prototype, 'accessor', WithLock('k'))],
    ['a property', () => Reflect.apply(WithLock('k'), undefined, [{}, 'pay'])],
    ['a value', () => Reflect.apply(WithLock('k'), undefined, [{}, 'pay', { value: 5 }])],
  ])('not on %s', (_, apply) => {
    const error = errorOf(apply);
    expect(error).toBeInstanceOf(LockConfigError);
    expect(error.message).toMatch(/@WithLock stands on methods/);
  });
});

const message = (method: string): RegExp =>
  new RegExp(`^Orders\\.${method} needs a LockService, but its object has none: .*attachLocks`);

describe('an object without its lock service', () => {
  let runs = 0;

  class Orders {
    @WithLock('order:<0>')
    async pay(_id: string): Promise<void> {
      runs++;
    }

    @WithLock('orders')
    all(): Observable<string> {
      runs++;
      return of('a');
    }

    @WithLock('k', { onBusy: 'skip', onUnavailable: () => undefined })
    async forgiving(): Promise<void> {
      runs++;
    }

    @WithLock('k', { service: 'billing' })
    async billed(): Promise<void> {
      runs++;
    }
  }

  it('refuses a promise, and the body does not run', async () => {
    const error = (await new Orders().pay('7').catch((reason: unknown) => reason)) as Error;
    expect(error).toBeInstanceOf(LockConfigError);
    expect(error.message).toMatch(message('pay'));
    expect(runs).toBe(0);
  });

  it('refuses a subscription, and the body does not run', async () => {
    const told = listen(new Orders().all());
    expect(told).toEqual(['LOCK_CONFIG']);
    await expect(lastValueFrom(new Orders().all())).rejects.toThrow(message('all'));
    expect(runs).toBe(0);
  });

  it('is no matter for onBusy or onUnavailable', async () => {
    await expect(new Orders().forgiving()).rejects.toThrow(message('forgiving'));
    expect(runs).toBe(0);
  });

  it.each<[string, unknown]>([
    ['an empty object, as useMocker gives', {}],
    ['an object with its methods', { take: () => ({}), settingsOf: () => ({}), engine: {} }],
    ['undefined', undefined],
    ['null', null],
  ])('is one with %s in its place', async (_, mock) => {
    const orders = new Orders();
    attachLockService(orders, 'default', mock as LockService);
    await expect(orders.pay('7')).rejects.toThrow(message('pay'));
    expect(runs).toBe(0);
  });

  it('is one whose service has another name', async () => {
    await expect(new Bench(Orders).object.billed()).rejects.toThrow(message('billed'));
    expect(runs).toBe(0);
  });

  it.each([undefined, null, 'text', 5])('is what is no object: %s', async (instance) => {
    await expect(Reflect.apply(methodOf(Orders, 'pay'), instance, ['7'])).rejects.toThrow(
      message('pay'),
    );
    expect(runs).toBe(0);
  });
});

describe('a key that cannot be made', () => {
  let runs = 0;

  class Orders {
    @WithLock('order:<0.id>', { onBusy: 'skip', onUnavailable: () => undefined })
    async pay(_order: { id?: string } | undefined): Promise<void> {
      runs++;
    }

    @WithLock('order:<0.id>')
    watch(_order: { id?: string }): Observable<number> {
      runs++;
      return of(1);
    }

    @WithLock((id: string) => (id === 'none' ? (undefined as never) : id))
    async byFunction(_id: string): Promise<void> {
      runs++;
    }

    @WithLock(() => [])
    async byNone(): Promise<void> {
      runs++;
    }

    @WithLock((async () => 'k') as () => never)
    async byPromise(): Promise<void> {
      runs++;
    }
  }

  it('is an error that names class, method and placeholder, and nothing is locked or run', async () => {
    const bench = new Bench(Orders);
    for (const order of [{}, { id: '' }, undefined]) {
      const error = (await bench.object.pay(order).catch((reason: unknown) => reason)) as Error;
      expect(error).toBeInstanceOf(LockKeyError);
      expect(error.message).toMatch(/^Orders\.pay: .*<0\.id> is /);
    }
    expect(listen(bench.object.watch({}))).toEqual(['LOCK_KEY']);
    expect(runs).toBe(0);
    expect(bench.asked).toBe(0);
  });

  it('is one of a function that gives no key, or a promise', async () => {
    const bench = new Bench(Orders);
    for (const [method, ...args] of [
      ['byFunction', 'none'],
      ['byFunction', ''],
      ['byNone'],
      ['byPromise'],
    ]) {
      const call = (bench.object as never as Record<string, Function>)[method!]!;
      const error = await Reflect.apply(call, bench.object, args).catch(
        (reason: unknown) => reason,
      );
      expect(error).toBeInstanceOf(LockKeyError);
      expect(error.message).toMatch(new RegExp(`^Orders\\.${method}: `));
    }
    expect(runs).toBe(0);
    expect(bench.asked).toBe(0);
  });
});
