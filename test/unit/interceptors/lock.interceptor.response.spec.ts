import { EventEmitter } from 'node:events';
import { Readable } from 'node:stream';
import { StreamableFile } from '@nestjs/common';
import { catchError, concat, lastValueFrom, map, NEVER, of, tap, timeout, timer } from 'rxjs';
import { beforeEach, describe, expect, it } from 'vitest';
import { Deferred } from '../../support/deferred.js';
import { methodOf, settled, until } from '../decorators/support.js';
import { type Around, callHandler } from './handler-call.js';
import { Handlers } from './handlers.js';

/** As Express has it. */
class Response extends EventEmitter {
  closed = false;
  headers: Record<string, string> = {};

  header(name: string, value: string): void {
    this.headers[name] = value;
  }

  close(): void {
    this.closed = true;
    this.emit('close');
  }
}

async function* chunks(): AsyncGenerator<string> {
  yield 'a';
}

const LONGER_THAN_A_RELEASE = 15;

let handlers: Handlers;
let response: Response;

beforeEach(() => {
  handlers = new Handlers();
  response = new Response();
});

/** The keys that were locked after the answer was given, and those after the response was closed. */
async function lockedAround(close = () => response.close()): Promise<(readonly string[])[]> {
  await lastValueFrom(timer(LONGER_THAN_A_RELEASE));
  const before = handlers.locked;
  close();
  await lastValueFrom(timer(LONGER_THAN_A_RELEASE));
  return [before, handlers.locked];
}

const UNTIL_CLOSED = [['k'], []];

describe('a response that goes on after the handler has ended', () => {
  it.each<[string, () => unknown]>([
    ['a StreamableFile', () => new StreamableFile(Readable.from(['a']))],
    ['a stream', () => Readable.from(['a'])],
    ['an async generator', () => chunks()],
  ])('keeps the lock: %s', async (_, value) => {
    const body = value();
    handlers.body = async () => body;
    await expect(lastValueFrom(callHandler(handlers, 'promise', { response }))).resolves.toBe(body);
    expect(await lockedAround()).toEqual(UNTIL_CLOSED);
  });

  it('keeps the lock when the stream is the last of several values', async () => {
    handlers.body = () => of('a', Readable.from(['b']));
    await lastValueFrom(callHandler(handlers, 'observable', { response }));
    expect(await lockedAround()).toEqual(UNTIL_CLOSED);
  });

  it('does not keep it when the stream was not the last value, or was mapped to another', async () => {
    handlers.body = () => of(Readable.from(['b']), 'a');
    await lastValueFrom(callHandler(handlers, 'observable', { response }));
    expect(handlers.locked).toEqual([]);
    handlers.body = async () => Readable.from(['b']);
    const inside: Around[] = [(next) => next.handle().pipe(map(() => 'mapped'))];
    await lastValueFrom(callHandler(handlers, 'promise', { response, inside }));
    expect(handlers.locked).toEqual([]);
  });

  it.each(['answering', 'passing'])(
    'keeps the lock of a handler that answers itself: %s',
    async (method) => {
      await lastValueFrom(callHandler(handlers, method, { response }));
      expect(await lockedAround()).toEqual(UNTIL_CLOSED);
    },
  );

  it('does not keep that of one that only sets headers', async () => {
    await lastValueFrom(callHandler(handlers, 'passthrough', { response }));
    expect(handlers.locked).toEqual([]);
  });

  it("waits for the raw response where it is Fastify's reply", async () => {
    const raw = new Response();
    await lastValueFrom(callHandler(handlers, 'answering', { response: { raw } }));
    expect(await lockedAround(() => raw.close())).toEqual(UNTIL_CLOSED);
  });

  it.each(['closed', 'destroyed'])('releases at once when it is %s already', async (state) => {
    Object.assign(response, { [state]: true });
    await lastValueFrom(callHandler(handlers, 'answering', { response }));
    await until(() => handlers.locked.length === 0);
    expect(response.listenerCount('close')).toBe(0);
  });

  it('releases at once when it cannot tell when it closes', async () => {
    await expect(lastValueFrom(callHandler(handlers, 'answering', { response: {} }))).resolves.toBe(
      'done',
    );
    await until(() => handlers.locked.length === 0);
  });

  it('keeps both of two locks', async () => {
    handlers.body = async () => Readable.from(['a']);
    await lastValueFrom(callHandler(handlers, 'twice', { response }));
    await lastValueFrom(timer(LONGER_THAN_A_RELEASE));
    expect(handlers.locked).toEqual(['inner', 'outer']);
    response.close();
    await until(() => handlers.locked.length === 0);
  });

  it('is only there for HTTP', async () => {
    handlers.body = async () => Readable.from(['a']);
    for (const type of ['rpc', 'ws', 'graphql']) {
      await lastValueFrom(callHandler(handlers, 'promise', { type, response }));
      expect(handlers.locked).toEqual([]);
    }
  });
});

describe('a handler that answers itself', () => {
  it('gives its lock back when the caller left while it ran, and the response is closed', async () => {
    const done = new Deferred<unknown>();
    handlers.body = () => done.promise;
    const subscription = callHandler(handlers, 'answering', { response }).subscribe();
    await until(() => handlers.locked.length === 1);
    subscription.unsubscribe();
    response.close();
    await lastValueFrom(timer(LONGER_THAN_A_RELEASE));
    // R23: its body still runs.
    expect(handlers.locked).toEqual(['k']);
    done.resolve(undefined);
    await until(() => handlers.locked.length === 0);
  });

  it('leaves the line when the caller left while it waited', async () => {
    let runs = 0;
    handlers.body = async () => runs++;
    const other = await handlers.locks.acquire('k');
    const subscription = callHandler(handlers, 'answering', { response }).subscribe();
    await settled();
    subscription.unsubscribe();
    await other.release();
    response.close();
    await settled();
    expect(runs).toBe(0);
    expect(handlers.locked).toEqual([]);
  });

  it('gives its lock back after an error that Nest answers', async () => {
    handlers.body = () => Promise.reject(new Error('refused'));
    await expect(lastValueFrom(callHandler(handlers, 'answering', { response }))).rejects.toThrow(
      'refused',
    );
    response.close();
    await until(() => handlers.locked.length === 0);
  });

  it('may be called again by a global interceptor when it has failed', async () => {
    let runs = 0;
    handlers.body = async () => {
      if (++runs === 1) {
        throw new Error('again');
      }
      return 'done';
    };
    const outside: Around[] = [(next) => next.handle().pipe(catchError(() => next.handle()))];
    await expect(
      lastValueFrom(callHandler(handlers, 'answering', { response, outside })),
    ).resolves.toBe('done');
    expect(await lockedAround()).toEqual(UNTIL_CLOSED);
  });

  it('is told from others by its name in the class, whatever a decorator above calls it', async () => {
    class Renamed extends Handlers {}
    const answering = methodOf(Handlers, 'answering');
    const wrapper = function renamed(this: Handlers, ...args: unknown[]): unknown {
      return answering.apply(this, args);
    };
    for (const key of Reflect.getMetadataKeys(answering)) {
      Reflect.defineMetadata(key, Reflect.getMetadata(key, answering), wrapper);
    }
    Object.defineProperty(Renamed.prototype, 'answering', { value: wrapper });
    handlers = new Renamed();
    await lastValueFrom(callHandler(handlers, 'answering', { response }));
    expect(await lockedAround()).toEqual(UNTIL_CLOSED);
  });
});

describe('a stream that a global timeout() cuts off', () => {
  it('gives its lock back when the response is closed', async () => {
    handlers.body = () => concat(of(Readable.from(['a'])), NEVER);
    const outside: Around[] = [
      (next) => next.handle().pipe(timeout({ each: 5 }), tap({ error: () => response.close() })),
    ];
    await expect(
      lastValueFrom(callHandler(handlers, 'observable', { response, outside })),
    ).rejects.toThrow('Timeout has occurred');
    await until(() => handlers.locked.length === 0);
  });
});
