import { lastValueFrom, Observable, of, throwError, toArray } from 'rxjs';
import { beforeEach, describe, expect, it } from 'vitest';
import { WithLock } from '../../../lib/decorators/with-lock.decorator.js';
import { LockDriverError } from '../../../lib/errors/lock-driver.error.js';
import { LockTimeoutError } from '../../../lib/errors/lock-timeout.error.js';
import type {
  LockServiceOptions,
  RefusalHandler,
  RefusedCall,
} from '../../../lib/interfaces/distributed-lock-module-options.interface.js';
import type { LockHandle } from '../../../lib/interfaces/lock-handle.interface.js';
import { watch } from '../../support/outcome.js';
import { Bench, listen, settled } from './support.js';

const busy = (): LockTimeoutError => new LockTimeoutError({ keys: ['other'], waited: 0 });

class Orders {
  readonly name = 'orders';
  runs = 0;
  answered: unknown[] = [];
  body: () => unknown = () => 'done';

  @WithLock('k', { onBusy: 'throw', wait: 0 })
  async throws(): Promise<unknown> {
    return this.run();
  }

  @WithLock('k', { wait: '30ms' })
  async waits(): Promise<unknown> {
    return this.run();
  }

  @WithLock('k', { onBusy: 'skip' })
  async skips(): Promise<unknown> {
    return this.run();
  }

  @WithLock('k', { onBusy: 'skip', wait: 500 })
  async waitsThenSkips(): Promise<unknown> {
    return this.run();
  }

  @WithLock('k:<0>', { onBusy: answer })
  async answers(_id: string, _more: number): Promise<unknown> {
    return this.run();
  }

  @WithLock('k', { onBusy: () => Promise.reject(new Error('sorry')) })
  async refuses(): Promise<unknown> {
    return this.run();
  }

  @WithLock('k', { onBusy: 'skip', onUnavailable: answer, wait: 0 })
  async copes(_id: string): Promise<unknown> {
    return this.run();
  }

  @WithLock('k', { onUnavailable: answer })
  async onlyUnavailable(): Promise<unknown> {
    return this.run();
  }

  @WithLock('k')
  observable(): Observable<unknown> {
    return this.run() as Observable<unknown>;
  }

  @WithLock('k', { onBusy: 'skip' })
  observableSkips(): Observable<unknown> {
    return this.run() as Observable<unknown>;
  }

  @WithLock('k', { onBusy: answer })
  observableAnswers(_id: string): Observable<unknown> {
    return this.run() as Observable<unknown>;
  }

  @WithLock('k', { onBusy: () => of('a', 'b') })
  observableAnswersByAnother(): Observable<unknown> {
    return this.run() as Observable<unknown>;
  }

  @WithLock('k', { onBusy: () => Promise.resolve('later') })
  observableAnswersByPromise(): Observable<unknown> {
    return this.run() as Observable<unknown>;
  }

  @WithLock('k', { onBusy: () => [1, 2] })
  observableAnswersByList(): Observable<unknown> {
    return this.run() as Observable<unknown>;
  }

  @WithLock('k', { onUnavailable: answer, wait: 0 })
  observableCopes(_id: string): Observable<unknown> {
    return this.run() as Observable<unknown>;
  }

  private run(): unknown {
    this.runs++;
    return this.body();
  }
}

function answer(this: Orders, ...args: unknown[]): string {
  this.answered.push(args);
  return `${this.name} is busy`;
}

let bench: Bench<Orders>;

beforeEach(() => {
  bench = new Bench(Orders);
});

describe('a busy lock', () => {
  let other: LockHandle;

  beforeEach(async () => {
    other = await bench.locks.acquire(['k', 'k:7']);
  });

  it.each(['throws', 'waits'] as const)(
    'is an error, unless it is said otherwise: %s',
    async (method) => {
      await expect(bench.object[method]()).rejects.toBeInstanceOf(LockTimeoutError);
      expect(bench.object.runs).toBe(0);
      expect(bench.locked).toHaveLength(2);
    },
  );

  it('is skipped: the method gives undefined, at once, and does not run', async () => {
    const skipped = watch(bench.object.skips());
    await settled();
    expect(skipped.settled).toBe(true);
    expect(skipped.get()).toBeUndefined();
    expect(bench.object.runs).toBe(0);
  });

  it('is waited for before it is skipped, where `wait` is given too', async () => {
    const waiting = watch(bench.object.waitsThenSkips());
    await settled();
    expect(waiting.settled).toBe(false);
    await other.release();
    await settled();
    expect(waiting.get()).toBe('done');
  });

  it('is answered by a function of the arguments, with its object, at once', async () => {
    const answered = watch(bench.object.answers('7', 2));
    await settled();
    expect(answered.get()).toBe('orders is busy');
    expect(bench.object.answered).toEqual([['7', 2]]);
    expect(bench.object.runs).toBe(0);
  });

  it('gives what the function throws', async () => {
    await expect(bench.object.refuses()).rejects.toThrow('sorry');
  });

  it('is an error where only onUnavailable is given', async () => {
    const quick = new Bench(Orders, { wait: 0 });
    await quick.locks.acquire('k');
    await expect(quick.object.onlyUnavailable()).rejects.toBeInstanceOf(LockTimeoutError);
  });

  it('makes an observable empty that skips', async () => {
    expect(listen(bench.object.observableSkips())).toEqual(['complete']);
    expect(bench.object.runs).toBe(0);
  });

  it.each([
    ['a value', 'observableAnswers', ['orders is busy']],
    ['another observable', 'observableAnswersByAnother', ['a', 'b']],
    ['a promise', 'observableAnswersByPromise', ['later']],
    ['a list, which is one value', 'observableAnswersByList', [[1, 2]]],
  ] as const)('makes an observable of %s that the function gives', async (_, method, values) => {
    const answered = bench.object[method]('7').pipe(toArray());
    await expect(lastValueFrom(answered)).resolves.toEqual(values);
    expect(bench.object.runs).toBe(0);
  });

  it('is asked for again at each subscription', async () => {
    const observable = bench.object.observableSkips();
    bench.object.body = () => of('done');
    expect(listen(observable)).toEqual(['complete']);
    await other.release();
    const told = listen(observable);
    await settled();
    expect(told).toEqual(['done', 'complete']);
  });
});

describe('a free lock', () => {
  it.each(['skips', 'waitsThenSkips', 'answers', 'refuses', 'copes'] as const)(
    'runs the method, whatever is said for a busy one: %s',
    async (method) => {
      await expect(bench.object[method]('7', 2)).resolves.toBe('done');
      expect(bench.locked).toEqual([]);
    },
  );
});

describe('a backend that is down', () => {
  beforeEach(() => bench.driver.failNext(Infinity));

  it('is an error, and the method does not run', async () => {
    for (const method of ['throws', 'skips', 'refuses'] as const) {
      await expect(bench.object[method]()).rejects.toBeInstanceOf(LockDriverError);
    }
    expect(bench.object.runs).toBe(0);
  });

  it('is answered by onUnavailable, with object and arguments', async () => {
    await expect(bench.object.copes('7')).resolves.toBe('orders is busy');
    expect(bench.object.answered).toEqual([['7']]);
    expect(bench.object.runs).toBe(0);
  });

  it('is answered so for an observable too', async () => {
    await expect(lastValueFrom(bench.object.observableCopes('7'))).resolves.toBe('orders is busy');
    expect(bench.object.runs).toBe(0);
  });

  it('is waited for within `wait` first', async () => {
    bench.driver.reset();
    bench.driver.failNext(2);
    await expect(bench.object.onlyUnavailable()).resolves.toBe('done');
    expect(bench.object.answered).toEqual([]);
  });
});

async function busyBench(options: Partial<LockServiceOptions>): Promise<Bench<Orders>> {
  const made = new Bench(Orders, options);
  await made.locks.acquire(['k', 'k:7']);
  return made;
}

describe('what the module says of refused calls', () => {
  const told: RefusedCall[] = [];
  const tell = (refused: RefusedCall): void => void told.push(refused);

  beforeEach(() => told.splice(0));

  it('is told of a busy lock with method, arguments and error, and the caller gets that error', async () => {
    const { object } = await busyBench({ onBusy: tell });
    const error: unknown = await object.waits().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(LockTimeoutError);
    expect(told).toEqual([{ method: 'Orders.waits', args: [], error }]);
    expect(object.runs).toBe(0);
  });

  it('does not keep anybody from waiting', async () => {
    const made = new Bench(Orders, { onBusy: tell });
    const other = await made.locks.acquire('k');
    const waiting = watch(made.object.onlyUnavailable());
    await settled();
    expect(waiting.settled).toBe(false);
    await other.release();
    await settled();
    expect(waiting.get()).toBe('done');
    expect(told).toEqual([]);
  });

  it.each<[string, RefusalHandler]>([
    [
      'throws',
      () => {
        throw new Error('sorry');
      },
    ],
    ['rejects with', () => Promise.reject(new Error('sorry'))],
  ])('may say otherwise: the caller gets what it %s', async (_, onBusy) => {
    const { object } = await busyBench({ onBusy, wait: 0 });
    await expect(object.waits()).rejects.toThrow('sorry');
    await expect(object.onlyUnavailable()).rejects.toThrow('sorry');
    await expect(lastValueFrom(object.observable())).rejects.toThrow('sorry');
  });

  it.each<[string, unknown]>([
    ['a value', 'answer'],
    ['a promise', Promise.resolve('answer')],
  ])('is no answer: %s that it gives is passed to nobody', async (_, given) => {
    const { object } = await busyBench({ onBusy: (() => given) as RefusalHandler, wait: 0 });
    await expect(object.onlyUnavailable()).rejects.toBeInstanceOf(LockTimeoutError);
    await expect(lastValueFrom(object.observable())).rejects.toBeInstanceOf(LockTimeoutError);
  });

  it('is not asked where the method has an `onBusy` of its own', async () => {
    const { object } = await busyBench({ onBusy: tell });
    await expect(object.throws()).rejects.toBeInstanceOf(LockTimeoutError);
    await expect(object.skips()).resolves.toBeUndefined();
    await expect(object.answers('7', 2)).resolves.toBe('orders is busy');
    expect(told).toEqual([]);
  });

  it('is told of a backend that is down, unless the method has an `onUnavailable`', async () => {
    const made = new Bench(Orders, { onUnavailable: tell, wait: 0 });
    made.driver.failNext(Infinity);
    const error: unknown = await made.object.skips().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(LockDriverError);
    await expect(made.object.copes('7')).resolves.toBe('orders is busy');
    expect(told).toEqual([{ method: 'Orders.skips', args: [], error }]);
  });

  it('does not concern other errors, nor the calls of LockService', async () => {
    const { object, locks } = await busyBench({ onBusy: tell, onUnavailable: tell });
    await expect(object.answers('', 2)).rejects.toMatchObject({ code: 'LOCK_KEY' });
    await expect(locks.acquire('k', { wait: 0 })).rejects.toBeInstanceOf(LockTimeoutError);
    expect(told).toEqual([]);
  });
});

describe('an error of the body', () => {
  it.each([
    ['a LockTimeoutError', busy],
    ['a LockDriverError', () => new LockDriverError('down')],
  ])('is never taken for one of its own lock: %s', async (_, make) => {
    const error = make();
    bench.object.body = () => Promise.reject(error);
    for (const method of ['skips', 'answers', 'copes'] as const) {
      await expect(bench.object[method]('7', 2)).rejects.toBe(error);
    }
    bench.object.body = () => throwError(() => error);
    for (const method of ['observableSkips', 'observableAnswers', 'observableCopes'] as const) {
      await expect(lastValueFrom(bench.object[method]('7'))).rejects.toBe(error);
    }
    bench.object.body = () => {
      throw error;
    };
    await expect(bench.object.skips()).rejects.toBe(error);
    await expect(lastValueFrom(bench.object.observableSkips())).rejects.toBe(error);
    expect(bench.object.answered).toEqual([]);
    expect(bench.locked).toEqual([]);
  });

  it('is not, when it comes from another locked method that it called', async () => {
    await bench.locks.acquire('other');
    bench.object.body = () => bench.locks.withLock('other', { wait: 0 }, () => 'unreachable');
    await expect(bench.object.skips()).rejects.toBeInstanceOf(LockTimeoutError);
    await expect(bench.object.answers('7', 2)).rejects.toBeInstanceOf(LockTimeoutError);
  });

  it('is not, when the inner one of two locks is busy and only the outer one skips', async () => {
    class Twice {
      @WithLock('outer', { onBusy: 'skip' })
      @WithLock('inner', { wait: 0 })
      async work(): Promise<void> {}

      @WithLock('outer', { wait: 0 })
      @WithLock('inner', { onBusy: 'skip' })
      async innerSkips(): Promise<void> {}
    }
    const twice = new Bench(Twice);
    await twice.locks.acquire('inner');
    await expect(twice.object.work()).rejects.toBeInstanceOf(LockTimeoutError);
    await expect(twice.object.innerSkips()).resolves.toBeUndefined();
    expect(twice.locked).toEqual(['inner']);
  });
});
