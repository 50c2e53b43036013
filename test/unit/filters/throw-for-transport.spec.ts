import { HttpException, Logger } from '@nestjs/common';
import { type Observable, tap, throwError } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import { LockConfigError } from '../../../lib/errors/lock-config.error.js';
import { LockDeadlockError } from '../../../lib/errors/lock-deadlock.error.js';
import { LockDriverError } from '../../../lib/errors/lock-driver.error.js';
import { LockKeyError } from '../../../lib/errors/lock-key.error.js';
import { LockTimeoutError } from '../../../lib/errors/lock-timeout.error.js';
import { throwForTransport } from '../../../lib/filters/throw-for-transport.js';
import { LockErrorInterceptor } from '../../../lib/interceptors/lock-error.interceptor.js';
import type { LockErrorMapper } from '../../../lib/interfaces/distributed-lock-module-options.interface.js';
import { callHandler } from '../interceptors/handler-call.js';
import { Handlers } from '../interceptors/handlers.js';
import { hostOf, HttpResponse } from './hosts.js';

const busy = (): LockTimeoutError => new LockTimeoutError({ keys: ['k'], waited: 0 });

/** The error of an observable. */
const errorFrom = (observable: Observable<unknown>): Promise<unknown> =>
  new Promise((resolve) => {
    observable.subscribe({ error: resolve, complete: () => resolve('no error') });
  });

/** What is thrown in place of an error. */
const thrownFor = (given: unknown, mapErrors: boolean | LockErrorMapper): Promise<unknown> =>
  errorFrom(throwForTransport(given, hostOf('http'), mapErrors));

/** What a global interceptor makes of an error. */
const intercepted = (given: unknown, mapErrors: boolean | LockErrorMapper): Promise<unknown> =>
  errorFrom(
    new LockErrorInterceptor(mapErrors).intercept(hostOf('http'), {
      handle: () => throwError(() => given),
    }),
  );

/** What the caller of a handler gets; `outer` is what a global interceptor is told. */
const errorOf = (
  handlers: Handlers,
  method: string,
  args: unknown[] = [],
  outer: boolean | LockErrorMapper = false,
): Promise<unknown> =>
  errorFrom(
    callHandler(handlers, method, {
      args,
      response: new HttpResponse(),
      outside: [(next, context) => new LockErrorInterceptor(outer).intercept(context, next)],
    }),
  );

describe('what a caller is not told', () => {
  const backend = new LockDriverError('redis failed: ECONNREFUSED', { keys: ['k'] });
  let error: MockInstance<Logger['error']>;

  beforeEach(() => {
    error = vi.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  });
  afterEach(() => error.mockRestore());

  it.each([backend, new LockConfigError('a mistake'), new LockDeadlockError('waits for itself')])(
    'is logged: %o',
    async (given) => {
      await thrownFor(given, true);
      expect(error.mock.calls).toEqual([[given.message, given.stack]]);
    },
  );

  it('is not where nobody needs to know, where it is thrown as it is, and where a mapper has it', async () => {
    await thrownFor(busy(), true);
    await thrownFor(backend, false);
    await thrownFor(backend, () => new HttpException('down', 503));
    expect(error).not.toHaveBeenCalled();
  });
});

describe('an error on its way to the caller', () => {
  it('is put into the form of the transport if it is a lock error', async () => {
    const thrown = await thrownFor(busy(), true);
    expect(thrown).toBeInstanceOf(HttpException);
    expect(thrown).toBeInstanceOf(LockTimeoutError);
  });

  it.each([new Error('other'), new HttpException('other', 409), 'text', undefined, null])(
    'is left alone if it is another: %o',
    async (error) => {
      const mapper = vi.fn<LockErrorMapper>();
      await expect(thrownFor(error, true)).resolves.toBe(error);
      await expect(thrownFor(error, mapper)).resolves.toBe(error);
      expect(mapper).not.toHaveBeenCalled();
    },
  );

  it('is left alone where mapErrors is false', async () => {
    const error = busy();
    await expect(thrownFor(error, false)).resolves.toBe(error);
  });

  it('is what the function gives', async () => {
    const own = new HttpException('mine', 409);
    await expect(thrownFor(busy(), () => own)).resolves.toBe(own);
    await expect(thrownFor(busy(), async () => own)).resolves.toBe(own);
    await expect(thrownFor(busy(), () => 'text')).resolves.toBe('text');
  });

  it.each([undefined, null])(
    'is the form of the transport if the function gives %s',
    async (none) => {
      await expect(thrownFor(busy(), () => none)).resolves.toBeInstanceOf(HttpException);
    },
  );

  it('is what the function throws', async () => {
    const broken = new Error('broken mapper');
    const mapper = (): never => {
      throw broken;
    };
    await expect(thrownFor(busy(), mapper)).resolves.toBe(broken);
    await expect(thrownFor(busy(), async () => mapper())).resolves.toBe(broken);
  });

  it('is shown to the function with its caller', async () => {
    const error = busy();
    const mapper = vi.fn<LockErrorMapper>();
    const host = hostOf('rpc');
    await errorFrom(throwForTransport(error, host, mapper));
    expect(mapper).toHaveBeenCalledExactlyOnceWith(error, host);
  });

  it('is decided on once, by whoever is nearest', async () => {
    const error = busy();
    const mapper = vi.fn<LockErrorMapper>((given) => given);
    await expect(thrownFor(error, mapper)).resolves.toBe(error);
    await expect(thrownFor(error, mapper)).resolves.toBe(error);
    await expect(thrownFor(error, true)).resolves.toBe(error);
    expect(mapper).toHaveBeenCalledOnce();
    const left = busy();
    await thrownFor(left, false);
    await expect(thrownFor(left, true)).resolves.toBe(left);
    const form = await thrownFor(busy(), true);
    await expect(thrownFor(form, mapper)).resolves.toBe(form);
    expect(mapper).toHaveBeenCalledOnce();
  });
});

describe('the interceptor for errors from deeper than the handler', () => {
  it('puts lock errors into form, and leaves others', async () => {
    await expect(intercepted(busy(), true)).resolves.toBeInstanceOf(HttpException);
    const other = new Error('other');
    await expect(intercepted(other, true)).resolves.toBe(other);
  });

  it('does as mapErrors says', async () => {
    const error = busy();
    await expect(intercepted(error, () => 'mine')).resolves.toBe('mine');
    await expect(intercepted(error, false)).resolves.toBe(error);
  });
});

describe('an error of the lock of a handler', () => {
  it.each(['promise', 'observable', 'promiseOfObservable'])(
    'is put into form, where no other interceptor does it: %s',
    async (method) => {
      const handlers = new Handlers({ wait: 0 });
      await handlers.locks.acquire('k');
      const error = await errorOf(handlers, method);
      expect(error).toBeInstanceOf(HttpException);
      expect(error).toBeInstanceOf(LockTimeoutError);
    },
  );

  it('is put into form, whatever the lock: a key that is missing too', async () => {
    const error = await errorOf(new Handlers(), 'keyed', [undefined]);
    expect(error).toBeInstanceOf(HttpException);
    expect(error).toBeInstanceOf(LockKeyError);
  });

  it('is left as it is where its service says so, by all interceptors around', async () => {
    const handlers = new Handlers({ wait: 0, mapErrors: false });
    await handlers.locks.acquire('k');
    const error = await errorOf(handlers, 'promise', [], true);
    expect(error).toBeInstanceOf(LockTimeoutError);
    expect(error).not.toBeInstanceOf(HttpException);
    await expect(errorOf(handlers, 'keyed', [undefined])).resolves.not.toBeInstanceOf(
      HttpException,
    );
  });

  it('is what the function of its service makes of it, once', async () => {
    const mine = new Error('mine');
    const mapper = vi.fn<LockErrorMapper>(() => mine);
    const handlers = new Handlers({ wait: 0, mapErrors: mapper });
    await handlers.locks.acquire('k');
    await expect(errorOf(handlers, 'promise', [], mapper)).resolves.toBe(mine);
    await expect(errorOf(handlers, 'keyed', [undefined], mapper)).resolves.toBe(mine);
    expect(mapper).toHaveBeenCalledTimes(2);
  });

  it('is shown as it is to interceptors inside', async () => {
    const handlers = new Handlers({ wait: 0 });
    await handlers.locks.acquire('k');
    const seen: unknown[] = [];
    const call = callHandler(handlers, 'promise', {
      inside: [(next) => next.handle().pipe(tap({ error: (error) => seen.push(error) }))],
    });
    await errorFrom(call);
    expect(seen).toEqual([expect.any(LockTimeoutError)]);
    expect(seen[0]).not.toBeInstanceOf(HttpException);
  });
});
