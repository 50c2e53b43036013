import {
  applyDecorators,
  Get,
  type NestInterceptor,
  SetMetadata,
  type Type,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import {
  GUARDS_METADATA,
  INTERCEPTORS_METADATA,
  METHOD_METADATA,
  PATH_METADATA,
} from '@nestjs/common/constants.js';
import { Observable, of } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { lockIdsOf, methodNameOf } from '../../../lib/decorators/locked-method.accessor.js';
import { WithLock } from '../../../lib/decorators/with-lock.decorator.js';
import { LockInterceptor } from '../../../lib/interceptors/lock.interceptor.js';
import { Bench, decorate, methodOf } from './support.js';

class Guard {
  canActivate(): boolean {
    return true;
  }
}

class Tx implements NestInterceptor {
  intercept(): Observable<unknown> {
    return of();
  }
}

const SYMBOL_KEY = Symbol('key');

/** Wraps as many libraries do: it keeps the metadata and nothing else. */
const Counted: MethodDecorator = (_target, _name, descriptor) => {
  const original = descriptor.value as Function;
  const wrapper = function (this: { calls: number }, ...args: unknown[]): unknown {
    this.calls++;
    return original.apply(this, args);
  };
  for (const key of Reflect.getMetadataKeys(original)) {
    Reflect.defineMetadata(key, Reflect.getMetadata(key, original), wrapper);
  }
  descriptor.value = wrapper as never;
};

const metadataOf = (method: object): Record<string, unknown> =>
  Object.fromEntries(
    Reflect.getMetadataKeys(method).map((key) => [String(key), Reflect.getMetadata(key, method)]),
  );

const ROUTE = {
  [PATH_METADATA]: 'pay',
  [METHOD_METADATA]: 0,
  [GUARDS_METADATA]: [Guard],
  mine: 'value',
};

/** The decorators that write metadata, in a class that has @WithLock in each place among them. */
class Orders {
  @WithLock('k')
  @Get('pay')
  @UseGuards(Guard)
  @SetMetadata('mine', 'value')
  async above(_id: string, _amount: number): Promise<void> {}

  @Get('pay')
  @UseGuards(Guard)
  @WithLock('k')
  @SetMetadata('mine', 'value')
  async between(_id: string, _amount: number): Promise<void> {}

  @Get('pay')
  @UseGuards(Guard)
  @SetMetadata('mine', 'value')
  @WithLock('k')
  async below(_id: string, _amount: number): Promise<void> {}

  @applyDecorators(Get('pay'), WithLock('k'), UseGuards(Guard), SetMetadata('mine', 'value'))
  async composed(_id: string, _amount: number): Promise<void> {}

  @applyDecorators(WithLock('k'), applyDecorators(Get('pay'), SetMetadata('mine', 'value')))
  @UseGuards(Guard)
  async nested(_id: string, _amount: number): Promise<void> {}
}

const PLACES = ['above', 'between', 'below', 'composed', 'nested'] as const;

describe('a locked method looks like the original', () => {
  it.each(PLACES)('with all metadata, whatever the order of decorators: %s', (place) => {
    expect(metadataOf(methodOf(Orders, place))).toMatchObject(ROUTE);
  });

  it.each(PLACES)('with its name and number of parameters: %s', (place) => {
    expect(methodOf(Orders, place).name).toBe(place);
    expect(methodOf(Orders, place)).toHaveLength(2);
  });

  it.each(PLACES)('with the types of its parameters: %s', (place) => {
    expect(Reflect.getMetadata('design:paramtypes', Orders.prototype, place)).toEqual([
      String,
      Number,
    ]);
  });

  it('with metadata under keys that are symbols or objects', () => {
    class Cart {
      async pay(): Promise<void> {}
    }
    const objectKey = {};
    Reflect.defineMetadata(SYMBOL_KEY, 1, methodOf(Cart, 'pay'));
    Reflect.defineMetadata(objectKey, 2, methodOf(Cart, 'pay'));
    decorate(Cart.prototype, 'pay', WithLock('k'));
    expect(Reflect.getMetadata(SYMBOL_KEY, methodOf(Cart, 'pay'))).toBe(1);
    expect(Reflect.getMetadata(objectKey, methodOf(Cart, 'pay'))).toBe(2);
  });

  it('with the properties that others have put on it, as they were', () => {
    class Cart {
      async pay(): Promise<void> {}
    }
    const seen: unknown[] = [];
    Object.assign(methodOf(Cart, 'pay'), { tag: 'x', [SYMBOL_KEY]: 'y' });
    Object.defineProperty(methodOf(Cart, 'pay'), 'hidden', { get: () => seen.push('asked') });
    decorate(Cart.prototype, 'pay', WithLock('k'));
    expect(Object.assign({}, methodOf(Cart, 'pay'))).toEqual({ tag: 'x', [SYMBOL_KEY]: 'y' });
    expect(Object.getOwnPropertyDescriptor(methodOf(Cart, 'pay'), 'hidden')?.enumerable).toBe(
      false,
    );
    expect(seen).toEqual([]);
  });

  it('in its class: not enumerable, and still to be replaced, as a spy does', () => {
    const { value: _, ...descriptor } = Object.getOwnPropertyDescriptor(
      Orders.prototype,
      'above',
    ) as PropertyDescriptor;
    expect(descriptor).toEqual({ configurable: true, enumerable: false, writable: true });
    expect(Object.keys(new Bench(Orders).object)).toEqual([]);
  });

  it('and leaves the original alone', () => {
    class Cart {
      async pay(): Promise<void> {}
    }
    const original = methodOf(Cart, 'pay');
    decorate(Cart.prototype, 'pay', WithLock('k'));
    expect(methodOf(Cart, 'pay')).not.toBe(original);
    expect(Reflect.getMetadataKeys(original)).toEqual([]);
  });
});

const interceptorsOf = (target: object): unknown =>
  Reflect.getMetadata(INTERCEPTORS_METADATA, target);

describe('its interceptor stands outside the others', () => {
  @UseInterceptors(Tx)
  class Cart {
    @WithLock('k')
    @UseInterceptors(Tx)
    async above(): Promise<void> {}

    @UseInterceptors(Tx)
    @WithLock('k')
    async below(): Promise<void> {}

    @WithLock('a')
    @UseInterceptors(Tx)
    @WithLock('b')
    async twice(): Promise<void> {}

    @applyDecorators(UseInterceptors(Tx), WithLock('k'))
    async composed(): Promise<void> {}

    @UseInterceptors(Tx)
    async free(): Promise<void> {}
  }

  it.each(['above', 'below', 'twice', 'composed'] as const)('on the method: %s', (method) => {
    expect(interceptorsOf(methodOf(Cart, method))).toEqual([LockInterceptor, Tx]);
  });

  it('on the class, once', () => {
    expect(interceptorsOf(Cart)).toEqual([LockInterceptor, Tx]);
  });

  it('and is not put on methods without a lock', () => {
    expect(interceptorsOf(methodOf(Cart, 'free'))).toEqual([Tx]);
    expect(lockIdsOf(methodOf(Cart, 'free'))).toEqual([]);
  });

  it('on classes that inherit, and not on those they inherit from', () => {
    @UseInterceptors(Tx)
    class Base {}
    class Derived extends Base {
      @WithLock('k')
      async pay(): Promise<void> {}
    }
    class Last extends Derived {}
    expect(interceptorsOf(Base)).toEqual([Tx]);
    expect(interceptorsOf(Derived)).toEqual([LockInterceptor, Tx]);
    expect(interceptorsOf(Last)).toEqual([LockInterceptor, Tx]);
  });

  it('has nothing to be injected: any module can make it', () => {
    expect((LockInterceptor as Type).length).toBe(0);
    expect(Reflect.getMetadata('design:paramtypes', LockInterceptor) ?? []).toEqual([]);
  });
});

describe('beside decorators that wrap the method too', () => {
  class Cart {
    calls = 0;
    readonly seen: string[][] = [];
    readonly locked: () => string[] = () => [];

    @Counted
    @WithLock('k:<0>')
    async above(id: string): Promise<string> {
      this.seen.push(this.locked());
      return id;
    }

    @WithLock('k:<0>')
    @Counted
    async below(id: string): Promise<string> {
      this.seen.push(this.locked());
      return id;
    }

    @WithLock('a:<0>')
    @Counted
    @WithLock('b:<0>')
    async between(id: string): Promise<string> {
      this.seen.push(this.locked());
      return id;
    }
  }

  it.each([
    ['above', ['k:7'], 1],
    ['below', ['k:7'], 1],
    ['between', ['a:7', 'b:7'], 2],
  ] as const)('the lock is taken, and both work: %s', async (method, keys, locks) => {
    const bench = new Bench(Cart);
    Object.assign(bench.object, { locked: () => [...bench.locked].toSorted() });
    await expect(bench.object[method]('7')).resolves.toBe('7');
    expect(bench.object.calls).toBe(1);
    expect(bench.object.seen).toEqual([keys]);
    expect(bench.locked).toEqual([]);
    expect(lockIdsOf(methodOf(Cart, method))).toHaveLength(locks);
  });

  it('its name in the class is known, though the wrapper above has another', () => {
    expect(methodOf(Cart, 'above').name).not.toBe('above');
    expect(methodNameOf(methodOf(Cart, 'above'))).toBe('above');
    expect(methodNameOf(methodOf(Cart, 'below'))).toBe('below');
  });

  it('the ids of two locks are told apart, the outermost first', async () => {
    const [outer, inner] = lockIdsOf(methodOf(Cart, 'between'));
    expect(outer).not.toBe(inner);
    class Plain {
      async pay(): Promise<void> {}
    }
    decorate(Plain.prototype, 'pay', WithLock('inner'));
    const [first] = lockIdsOf(methodOf(Plain, 'pay'));
    decorate(Plain.prototype, 'pay', WithLock('outer'));
    expect(lockIdsOf(methodOf(Plain, 'pay'))[1]).toBe(first);
  });
});
