import {
  concat,
  endWith,
  lastValueFrom,
  merge,
  mergeMap,
  NEVER,
  of,
  shareReplay,
  startWith,
  Subject,
  take,
  tap,
  throwError,
  timer,
} from 'rxjs';
import { beforeEach, describe, expect, it } from 'vitest';
import { listen, until } from '../decorators/support.js';
import { type Around, callHandler } from './handler-call.js';
import { Handlers, KINDS } from './handlers.js';

let handlers: Handlers;

beforeEach(() => {
  handlers = new Handlers();
});

/** Long enough for a turn of the event loop and a release. */
const aWhile = (): Promise<unknown> => lastValueFrom(timer(20));

describe.each(KINDS)('the values of a handler that returns a $kind', ({ kind, of: as }) => {
  it.each<[string, Around, unknown[]]>([
    ['before it', (next) => next.handle().pipe(startWith('first')), ['first', 'done']],
    ['after it', (next) => next.handle().pipe(endWith('last')), ['done', 'last']],
    [
      'around it',
      (next) => next.handle().pipe(startWith('first'), endWith('last')),
      ['first', 'done', 'last'],
    ],
  ])('come in their order, with those that an interceptor puts %s', async (_, around, values) => {
    handlers.body = as(() => of('done'));
    const told = listen(callHandler(handlers, kind, { type: 'ws', inside: [around] }));
    await until(() => told.includes('complete'));
    expect(told).toEqual([...values, 'complete']);
  });

  it('come before an error that follows them', async () => {
    handlers.body = as(() => of('done'));
    const inside: Around[] = [
      (next) =>
        concat(
          next.handle(),
          throwError(() => new Error('refused')),
        ),
    ];
    const told = listen(callHandler(handlers, kind, { type: 'ws', inside }));
    await until(() => told.includes('refused'));
    expect(told).toEqual(['done', 'refused']);
  });

  it('come though the chain goes on and on', async () => {
    const live = new Subject<string>();
    handlers.body = as(() => of('snapshot'));
    const inside: Around[] = [
      (next) => next.handle().pipe(mergeMap((value) => live.pipe(startWith(value)))),
    ];
    const told = listen(callHandler(handlers, kind, { type: 'ws', inside }));
    await until(() => told.length === 1);
    live.next('update');
    await until(() => told.length === 2);
    expect(told).toEqual(['snapshot', 'update']);
    expect(handlers.locked).toEqual(['k']);
    live.complete();
    await until(() => told.includes('complete'));
  });

  it('do not keep back what an interceptor says while the body runs', async () => {
    handlers.body = as(() => NEVER);
    const inside: Around[] = [(next) => next.handle().pipe(startWith('pending'))];
    const told = listen(callHandler(handlers, kind, { type: 'ws', inside }));
    await until(() => told.length === 1);
    expect(told).toEqual(['pending']);
  });

  it('come as often as they were emitted', async () => {
    handlers.body = as(() => of('done'));
    const inside: Around[] = [(next) => merge(next.handle(), of('a', 'b'), timer(10))];
    const told = listen(callHandler(handlers, kind, { type: 'ws', inside }));
    await until(() => told.includes('complete'));
    expect(told.toSorted((a, b) => String(a).localeCompare(String(b)))).toEqual([
      0,
      'a',
      'b',
      'complete',
      'done',
    ]);
  });
});

describe('the value of a promise', () => {
  it('is told when the lock is free: who gets it may come again at once', async () => {
    const call = callHandler(handlers, 'promise', { type: 'ws' });
    await lastValueFrom(call.pipe(tap(() => handlers.note('value'))));
    expect(handlers.log).toEqual(['value, free']);
  });

  it('is told to nobody who has left', async () => {
    const told: unknown[] = [];
    const subscription = callHandler(handlers, 'promise').subscribe((value) => told.push(value));
    await until(() => handlers.locked.length === 1);
    subscription.unsubscribe();
    await aWhile();
    expect(told).toEqual([]);
    expect(handlers.locked).toEqual([]);
  });

  it('is not told when the lock was lost before the chain had ended', async () => {
    const inside: Around[] = [
      (next) => next.handle().pipe(tap(() => void handlers.locks.forceRelease('k'))),
    ];
    const told = listen(callHandler(handlers, 'promise', { type: 'event', inside }));
    await until(() => told.length > 0);
    expect(told).toEqual(['LOCK_LOST']);
  });
});

describe('the end of a chain whose source lives on', () => {
  it.each(['observable', 'promiseOfObservable'])(
    'is told at once, and the lock stays with the source: %s',
    async (kind) => {
      const source = new Subject<string>();
      handlers.body = () => source.pipe(startWith('first'));
      const inside: Around[] = [(next) => next.handle().pipe(shareReplay(1), take(1))];
      const told = listen(callHandler(handlers, kind, { inside }));
      await until(() => told.includes('complete'));
      expect(told).toEqual(['first', 'complete']);
      await aWhile();
      expect(handlers.locked).toEqual(['k']);
      source.complete();
      await until(() => handlers.locked.length === 0);
    },
  );
});
