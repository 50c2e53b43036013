import { EMPTY, Observable, of } from 'rxjs';
import * as rx from 'rxjs';
import { describe, expect, it } from 'vitest';
import { isObservable, returnKindOf } from '../../../lib/decorators/return-kind.js';
import { WithLock } from '../../../lib/decorators/with-lock.decorator.js';
import { LockConfigError } from '../../../lib/errors/lock-config.error.js';
import { Bench, decorate, errorOf } from './support.js';

class Rows extends Observable<string> {}

type Alias = Observable<string>;

interface Stream extends Observable<string> {
  readonly name: string;
}

/** Another library's, or another copy's: it has nothing of our Observable but its looks. */
class Lookalike {
  subscribe(): void {}

  pipe(): this {
    return this;
  }
}

/** Its methods tell what they are taken for: an observable is handed out at once, a promise otherwise. */
class Typed {
  @WithLock('k')
  async asyncFunction(): Promise<void> {}

  @WithLock('k')
  promise(): Promise<void> {
    return Promise.resolve();
  }

  @WithLock('k')
  observable(): Observable<never> {
    return EMPTY;
  }

  @WithLock('k')
  qualified(): rx.Observable<never> {
    return EMPTY;
  }

  @WithLock('k')
  subclass(): Rows {
    return new Rows();
  }

  @WithLock('k')
  lookalike(): Lookalike {
    return new Lookalike();
  }

  @WithLock('k', { returns: 'observable' })
  aliasWithOption(): Alias {
    return EMPTY;
  }

  @WithLock('k', { returns: 'promise' })
  observableWithOption(): Observable<never> {
    return EMPTY;
  }

  @WithLock('k', { returns: 'observable' })
  async asyncWithOption(): Promise<void> {}
}

function* generator(): Generator<string> {}

async function* asyncGenerator(): AsyncGenerator<string> {}

const isLazy = (method: keyof Typed): boolean => {
  const result: unknown = new Bench(Typed).object[method]();
  if (result instanceof Promise) {
    result.catch(() => undefined);
  }
  return isObservable(result);
};

describe('what a locked method returns', () => {
  it.each([
    ['an async function', 'asyncFunction', 'promise'],
    ['the type Promise', 'promise', 'promise'],
    ['the type Observable', 'observable', 'observable'],
    ['the type rx.Observable', 'qualified', 'observable'],
    ['a subclass of Observable', 'subclass', 'observable'],
    ['a class that looks like Observable', 'lookalike', 'observable'],
    ['the option, where the type tells nothing', 'aliasWithOption', 'observable'],
    ['the option, before the type', 'observableWithOption', 'promise'],
    ['the option, before the form of the function', 'asyncWithOption', 'observable'],
  ] as const)('is told by %s', (_, method, kind) => {
    expect(isLazy(method) ? 'observable' : 'promise').toBe(kind);
  });

  it.each<[string, unknown]>([
    ['nothing is written down, as by esbuild', undefined],
    ['an alias, an interface or a union was compiled to Object', Object],
    ['a type-only import was compiled to Function', Function],
    ['it is a class that cannot be subscribed to', Map],
    ['it is an arrow function, which has no prototype', () => undefined],
    ['it is null', null],
  ])('is taken for a promise where %s', (_, returnType) => {
    expect(returnKindOf(() => undefined, returnType, undefined, 'A.b')).toBe('promise');
  });

  it('is a promise for an async function, whatever is written down', () => {
    expect(returnKindOf(async () => undefined, Observable, undefined, 'A.b')).toBe('promise');
  });

  it.each([
    ['a generator', generator],
    ['an async generator', asyncGenerator],
  ])('cannot be told of %s, with the option or without', (_, method) => {
    for (const option of [undefined, 'promise', 'observable'] as const) {
      const error = errorOf(() => returnKindOf(method, undefined, option, 'Orders.stream'));
      expect(error).toBeInstanceOf(LockConfigError);
      expect(error.message).toMatch(/^Orders\.stream is a generator/);
    }
  });

  it('is refused for a generator when the class is loaded', () => {
    class Orders {
      async *stream(): AsyncGenerator<string> {}
    }
    const load = (): void => decorate(Orders.prototype, 'stream', WithLock('k'));
    expect(load).toThrow(LockConfigError);
    expect(load).toThrow('Orders.stream is a generator');
  });
});

describe('an observable that nobody expected', () => {
  let subscribed = 0;
  const source = new Observable<string>((subscriber) => {
    subscribed++;
    return of('a').subscribe(subscriber);
  });

  class Orders {
    @WithLock('k')
    alias(): Alias {
      return source;
    }

    @WithLock('k')
    named(): Stream {
      return source as Stream;
    }

    @WithLock('k')
    async promised(): Promise<Observable<string>> {
      return source;
    }

    @WithLock('k', { returns: 'promise' })
    denied(): Observable<string> {
      return source;
    }
  }

  it.each(['alias', 'named', 'promised', 'denied'] as const)(
    'is refused in a service and its lock is released: %s()',
    async (method) => {
      const bench = new Bench(Orders);
      const error: unknown = await (bench.object[method]() as PromiseLike<unknown>).then(
        () => 'no error',
        (reason: unknown) => reason,
      );
      expect(error).toBeInstanceOf(LockConfigError);
      expect((error as Error).message).toMatch(
        new RegExp(`^Orders\\.${method} returned an Observable, .* returns: 'observable'`, 's'),
      );
      expect(bench.asked).toBe(1);
      expect(bench.locked).toEqual([]);
      expect(subscribed).toBe(0);
    },
  );

  it('is welcome where the option says so', async () => {
    class Fine {
      @WithLock('k', { returns: 'observable' })
      alias(): Alias {
        return of('a');
      }
    }
    await expect(rx.lastValueFrom(new Bench(Fine).object.alias())).resolves.toBe('a');
  });
});
