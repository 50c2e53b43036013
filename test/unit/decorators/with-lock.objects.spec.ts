import { getEventListeners } from 'node:events';
import { lastValueFrom, Observable, of, Subscriber } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { currentLock } from '../../../lib/core/frames.js';
import { WithLock } from '../../../lib/decorators/with-lock.decorator.js';
import { LockConfigError } from '../../../lib/errors/lock-config.error.js';
import { Bench, methodOf, settled } from './support.js';

const PAY = Symbol('pay');

const held = (): string => currentLock()?.keys.join() ?? 'nothing';

class Orders {
  @WithLock('order:<0>')
  async pay(_id: string): Promise<string> {
    return held();
  }

  @WithLock('order:<0>')
  rows(_id: string): Observable<string> {
    return of(held());
  }

  @WithLock('order:<0>')
  async [PAY](_id: string): Promise<string> {
    return held();
  }

  @WithLock('order:<0>')
  async audited(id: string): Promise<string[]> {
    return [held(), await this.pay(id), await lastValueFrom(this.rows(id))];
  }
}

class Refunds extends Orders {
  @WithLock('refund:<0>')
  override async pay(id: string): Promise<string> {
    return `${held()}, ${await super.pay(id)}`;
  }
}

describe('a locked method', () => {
  it('of a proxy takes the service of the object behind it', async () => {
    const { object } = new Bench(Orders);
    const logged: PropertyKey[] = [];
    const spy = new Proxy(object, {
      get: (target, key, receiver) => {
        logged.push(key);
        return Reflect.get(target, key, receiver) as unknown;
      },
    });
    await expect(spy.pay('7')).resolves.toBe('order:7');
    await expect(lastValueFrom(new Proxy(object, {}).rows('7'))).resolves.toBe('order:7');
    await expect(Object.create(object).pay('7')).resolves.toBe('order:7');
    expect(logged).toContain('pay');
  });

  it('of a mock that has an answer to everything is refused', async () => {
    const pay = methodOf(Orders, 'pay');
    const mock = new Proxy({}, { get: () => () => undefined });
    await expect(Reflect.apply(pay, mock, ['7'])).rejects.toBeInstanceOf(LockConfigError);
  });

  it('leaves nothing on its object that others would see', () => {
    const { object } = new Bench(Orders);
    expect(Object.assign({}, object)).toStrictEqual({});
    expect(JSON.stringify(object)).toBe('{}');
    expect(object).toEqual(new Orders());
  });

  it('may be named by a symbol', async () => {
    await expect(new Bench(Orders).object[PAY]('7')).resolves.toBe('order:7');
    await expect(new Orders()[PAY]('7')).rejects.toThrow('Orders.Symbol(pay)');
  });

  it('that calls others of the same key lets them join', async () => {
    const bench = new Bench(Orders, { wait: 0 });
    await expect(bench.object.audited('7')).resolves.toEqual(['order:7', 'order:7', 'order:7']);
    expect(bench.asked).toBe(1);
    expect(bench.locked).toEqual([]);
  });

  it('that overrides another and calls it takes both locks', async () => {
    const bench = new Bench(Refunds);
    await expect(bench.object.pay('7')).resolves.toBe('refund:7, order:7');
    expect(bench.locked).toEqual([]);
  });

  it('that is subscribed to by one who has left already does nothing, and leaves nothing', async () => {
    const bench = new Bench(Orders);
    const left = new Subscriber<string>();
    left.unsubscribe();
    await bench.locks.withLock('order:7', async ({ signal }) => {
      bench.object.rows('7').subscribe(left);
      await settled();
      expect(getEventListeners(signal, 'abort')).toEqual([]);
    });
    expect(bench.locked).toEqual([]);
  });
});
