import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LockDriverError } from '../../../../lib/errors/lock-driver.error.js';
import { watch } from '../../../support/outcome.js';
import { microtasks } from './microtasks.js';
import { OperationScene, serverError } from './operation-scene.js';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** Runs what is to run before time goes on. */
const endOfTurn = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);

const all = (...keys: string[]): { key: string }[] => keys.map((key) => ({ key }));

describe('a request of the Redis driver', () => {
  it('goes out at once where nothing is under way, without a timer', async () => {
    const scene = new OperationScene();
    const answer = scene.ask('a');
    await microtasks();
    expect(scene.sent).toEqual([['a']]);
    expect(vi.getTimerCount()).toBe(0);

    scene.answer(0);
    await microtasks();
    expect(answer.get()).toBe('of a');
  });

  it('is given to the script with the name of its key on the server, and with its arguments', async () => {
    const scene = new OperationScene();
    scene.ask('a', 'large');
    await microtasks();
    const { script, keys, args } = scene.runner.calls[0]!;
    expect({ script, keys, args }).toEqual({
      script: scene.script,
      keys: ['lock:a'],
      args: ['large a'],
    });
  });

  it('goes out together with others that are made in the same moment', async () => {
    const scene = new OperationScene();
    scene.ask('a');
    scene.ask('b');
    await Promise.resolve().then(() => scene.ask('c'));
    scene.ask('d');
    await microtasks();
    expect(scene.sent[0]).toEqual(['a', 'b']);
  });

  it('goes out with all that the same turn of the event loop asks for, where the last call had company', async () => {
    const scene = new OperationScene();
    scene.askMany('a', 2);
    await microtasks();
    scene.answer(0);
    await microtasks();
    scene.ask('b');
    await microtasks();
    scene.ask('c');
    expect(scene.sent).toEqual([['a0', 'a1']]);
    await endOfTurn();
    expect(scene.sent).toEqual([
      ['a0', 'a1'],
      ['b', 'c'],
    ]);
  });

  it('waits for no others again after it was alone', async () => {
    const scene = new OperationScene();
    scene.askMany('a', 2);
    await microtasks();
    scene.answer(0);
    await microtasks();
    scene.ask('b');
    await endOfTurn();
    scene.answer(1);
    await microtasks();
    scene.ask('c');
    await microtasks();
    expect(scene.sent).toEqual([['a0', 'a1'], ['b'], ['c']]);
  });

  it('is made anew together with others by callers who were answered together', async () => {
    const scene = new OperationScene();
    const caller = async (key: string): Promise<void> => {
      await scene.operation.ask({ key });
      await scene.operation.ask({ key: `${key} again` });
    };
    void caller('a');
    void caller('b');
    void caller('c');
    await microtasks();
    scene.answer(0);
    await endOfTurn();
    expect(scene.sent).toEqual([
      ['a', 'b', 'c'],
      ['a again', 'b again', 'c again'],
    ]);
  });
});

describe('requests that are made while a call is under way', () => {
  it('go out together as soon as it is answered', async () => {
    const scene = new OperationScene();
    scene.ask('a');
    await microtasks();
    const answers = ['b', 'c', 'd'].map((key) => scene.ask(key));
    await microtasks();
    expect(scene.sent).toEqual([['a']]);

    scene.answer(0);
    await microtasks();
    expect(scene.sent).toEqual([['a'], ['b', 'c', 'd']]);
    expect(vi.getTimerCount()).toBe(0);

    scene.answer(1);
    await microtasks();
    expect(answers.map((answer) => answer.get())).toEqual(['of b', 'of c', 'of d']);
  });

  it('go out together as soon as it has failed', async () => {
    const scene = new OperationScene();
    scene.ask('a');
    await microtasks();
    scene.ask('b');
    scene.runner.calls[0]!.fail(serverError('LOADING'));
    await microtasks();
    expect(scene.sent).toEqual([['a'], ['b']]);
  });

  it('wait for all calls under way', async () => {
    const scene = new OperationScene();
    scene.ask('a', 'large');
    scene.ask('b', 'small');
    await microtasks();
    scene.ask('c');
    scene.answer(0);
    await microtasks();
    expect(scene.sent).toEqual([['a'], ['b']]);
    scene.answer(1);
    await microtasks();
    expect(scene.sent).toEqual([['a'], ['b'], ['c']]);
  });

  it('go out after a millisecond if no answer comes', async () => {
    const scene = new OperationScene();
    scene.ask('a');
    await microtasks();
    scene.ask('b');
    scene.ask('c');
    await endOfTurn();
    expect(scene.sent).toEqual([['a']]);

    await vi.advanceTimersByTimeAsync(1);
    expect(scene.sent).toEqual([['a'], ['b', 'c']]);

    scene.ask('d');
    await vi.advanceTimersByTimeAsync(1);
    expect(scene.sent).toEqual([['a'], ['b', 'c'], ['d']]);
  });

  it('are not sent a second time by the timer when an answer has come before it', async () => {
    const scene = new OperationScene();
    scene.ask('a');
    await microtasks();
    scene.ask('b');
    scene.answer(0);
    await vi.advanceTimersByTimeAsync(10);
    expect(scene.sent).toEqual([['a'], ['b']]);
  });

  it('do not keep a process alive by their timer', async () => {
    const scene = new OperationScene();
    const timers = vi.spyOn(globalThis, 'setTimeout');
    scene.ask('a');
    await microtasks();
    scene.ask('b');
    expect(timers.mock.results.map(({ value }) => (value as NodeJS.Timeout).hasRef())).toEqual([
      false,
    ]);
    timers.mockRestore();
  });
});

describe('as many requests as one call may have', () => {
  it('go out at once though another call is under way', async () => {
    const scene = new OperationScene({ limit: 3 });
    scene.ask('a');
    await microtasks();
    scene.askMany('b', 3);
    expect(scene.sent).toEqual([['a'], ['b0', 'b1', 'b2']]);
  });

  it('go out at once though none is under way, and take nothing from those after them', async () => {
    const scene = new OperationScene({ limit: 2 });
    scene.askMany('a', 3);
    expect(scene.sent).toEqual([['a0', 'a1']]);
    await microtasks();
    expect(scene.sent).toEqual([['a0', 'a1'], ['a2']]);
  });

  it('are sent in three calls at most; then an answer lets the next go', async () => {
    const scene = new OperationScene({ limit: 2 });
    scene.ask('first');
    await microtasks();
    const answers = scene.askMany('a', 9);
    expect(scene.sent).toEqual([['first'], ['a0', 'a1'], ['a2', 'a3']]);

    scene.answer(1);
    await microtasks();
    expect(scene.sent.slice(3)).toEqual([['a4', 'a5']]);
    scene.answer(0);
    scene.answer(2);
    await microtasks();
    expect(scene.sent.slice(4)).toEqual([['a6', 'a7']]);
    scene.answer(3);
    await microtasks();
    expect(scene.sent.slice(5)).toEqual([]);
    scene.answer(4);
    await microtasks();
    expect(scene.sent.slice(5)).toEqual([['a8']]);
    scene.answer(5);
    await microtasks();
    expect(answers.map((answer) => answer.get())).toEqual(
      Array.from({ length: 9 }, (_, index) => `of a${index}`),
    );
  });

  it('are sent by an answer also where they are exactly as many', async () => {
    const scene = new OperationScene({ limit: 2 });
    scene.ask('first');
    await microtasks();
    scene.askMany('a', 6);
    await microtasks();
    expect(scene.sent).toHaveLength(3);
    scene.answer(1);
    await microtasks();
    expect(scene.sent.slice(3)).toEqual([['a4', 'a5']]);
  });

  it('all go, each call with no more than it may have, when no answer has come for a millisecond', async () => {
    const scene = new OperationScene({ limit: 2 });
    scene.askMany('a', 2);
    await microtasks();
    scene.askMany('b', 9);
    await vi.advanceTimersByTimeAsync(1);
    expect(scene.sent.flat()).toEqual([
      'a0',
      'a1',
      ...Array.from({ length: 9 }, (_, index) => `b${index}`),
    ]);
    expect(scene.sent.every((keys) => keys.length <= 2)).toBe(true);
  });

  it('leave no timer behind that would send later requests for ever by themselves', async () => {
    const scene = new OperationScene({ limit: 2 });
    scene.ask('a');
    await microtasks();
    scene.askMany('b', 2);
    scene.askMany('c', 1);
    await vi.advanceTimersByTimeAsync(5);
    expect(scene.sent).toEqual([['a'], ['b0', 'b1'], ['c0']]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('requests that are sent at the same time', () => {
  it('go in calls of their own where they do not fit each other', async () => {
    const scene = new OperationScene();
    const answers = [
      scene.ask('a', 'large'),
      scene.ask('b', 'small'),
      scene.ask('c', 'large'),
      scene.ask('d', 'small'),
    ];
    await microtasks();
    expect(scene.sent).toEqual([
      ['a', 'c'],
      ['b', 'd'],
    ]);
    scene.answer(1);
    scene.answer(0);
    await microtasks();
    expect(answers.map((answer) => answer.get())).toEqual(['of a', 'of b', 'of c', 'of d']);
  });

  it('fill one call before they begin another, for each kind', async () => {
    const scene = new OperationScene({ limit: 2 });
    const mixed = ['a1', 'b1', 'a2', 'a3', 'b2', 'a4', 'a5'];
    void scene.operation.askAll(mixed.map((key) => ({ key, kind: key.slice(0, 1) })));
    expect(scene.sent).toEqual([['a1', 'a2'], ['b1', 'b2'], ['a3', 'a4'], ['a5']]);
  });

  it('keep two requests for one key in their order', async () => {
    const scene = new OperationScene();
    const outcomes = [scene.ask('a'), scene.ask('a')];
    await microtasks();
    scene.runner.calls[0]!.answer(['one', 'two']);
    await microtasks();
    expect(outcomes.map((outcome) => outcome.get())).toEqual(['one', 'two']);
  });

  it('get their own answers when later calls are answered earlier', async () => {
    const scene = new OperationScene();
    const answers = ['a', 'b', 'c'].map((key) => scene.ask(key, key));
    await microtasks();
    scene.answer(2);
    await microtasks();
    expect(answers.map(({ settled }) => settled)).toEqual([false, false, true]);
    scene.answer(0);
    scene.answer(1);
    await microtasks();
    expect(answers.map((answer) => answer.get())).toEqual(['of a', 'of b', 'of c']);
  });
});

describe('a failure', () => {
  it('of one key fails the request for that one alone', async () => {
    const scene = new OperationScene();
    const [a, b, c] = scene.askMany('a', 3);
    await microtasks();
    const wrong = new LockDriverError('WRONGTYPE');
    scene.runner.calls[0]!.answer(['one', wrong, 'three']);
    await microtasks();
    expect([a!.get(), b!.error, c!.get()]).toEqual(['one', wrong, 'three']);
  });

  it('of one call fails its requests, all of them, and no others', async () => {
    const scene = new OperationScene();
    const large = ['a', 'b'].map((key) => scene.ask(key, 'large'));
    const small = scene.ask('c', 'small');
    await microtasks();
    const down = serverError('CLUSTERDOWN The cluster is down');
    scene.runner.calls[0]!.fail(down);
    scene.answer(1);
    await microtasks();
    expect(large.map(({ error }) => error)).toEqual([down, down]);
    expect(small.get()).toBe('of c');
    expect(scene.sent).toHaveLength(2);
  });

  it('lets the next request go out at once', async () => {
    const scene = new OperationScene();
    scene.ask('a');
    await microtasks();
    scene.runner.calls[0]!.fail(serverError('ERR'));
    await microtasks();
    scene.ask('b');
    await microtasks();
    expect(scene.sent).toEqual([['a'], ['b']]);
  });

  it.each([null, undefined, 'OK', 1, Buffer.from('OK')])(
    'is an answer that is no list: %j',
    async (reply) => {
      const scene = new OperationScene();
      const answers = scene.askMany('a', 2);
      await microtasks();
      scene.runner.calls[0]!.answer(reply);
      await microtasks();
      for (const { error } of answers) {
        expect(error).toBeInstanceOf(LockDriverError);
        expect(error?.message).toContain(`answered with ${String(reply)}`);
      }
      scene.ask('b');
      await endOfTurn();
      expect(scene.sent).toHaveLength(2);
    },
  );

  it('is a list that is too short, for those who are not on it', async () => {
    const scene = new OperationScene();
    const [a, b] = scene.askMany('a', 2);
    await microtasks();
    scene.runner.calls[0]!.answer(['one']);
    await microtasks();
    expect(a!.get()).toBe('one');
    expect(b!.error).toBeInstanceOf(LockDriverError);
    expect(b!.error?.message).toContain('not answered for all keys');
  });
});

describe('requests for keys of a slot that moves', () => {
  const SPLIT = [
    serverError('TRYAGAIN Multiple keys request during rehashing of slot'),
    serverError('Too many Cluster redirections. Last error: ReplyError: TRYAGAIN Multiple keys'),
  ];

  it.each(SPLIT)('are sent again key by key: %s', async (split) => {
    const scene = new OperationScene();
    const answers = scene.askMany('a', 3);
    await microtasks();
    scene.runner.calls[0]!.fail(split);
    await microtasks();
    expect(scene.sent).toEqual([['a0', 'a1', 'a2'], ['a0'], ['a1'], ['a2']]);

    scene.answer(3);
    scene.answer(1);
    scene.runner.calls[2]!.fail(serverError('CLUSTERDOWN'));
    await microtasks();
    expect([answers[0]!.get(), answers[2]!.get()]).toEqual(['of a0', 'of a2']);
    expect(answers[1]!.error?.message).toContain('CLUSTERDOWN');
  });

  it.each(SPLIT)('are sent again no more than once: %s', async (split) => {
    const scene = new OperationScene();
    const answers = scene.askMany('a', 2);
    await microtasks();
    scene.runner.calls[0]!.fail(split);
    await microtasks();
    scene.runner.calls[1]!.fail(split);
    scene.runner.calls[2]!.fail(split);
    await microtasks();
    expect(answers.map(({ error }) => error)).toEqual([split, split]);
    expect(scene.sent).toHaveLength(3);

    scene.ask('b');
    await microtasks();
    expect(scene.sent).toHaveLength(4);
  });

  it('hold back what comes meanwhile until they are answered', async () => {
    const scene = new OperationScene();
    scene.askMany('a', 2);
    await microtasks();
    scene.runner.calls[0]!.fail(SPLIT[0]);
    await microtasks();
    scene.ask('b');
    scene.answer(1);
    await microtasks();
    expect(scene.sent).toHaveLength(3);
    scene.answer(2);
    await microtasks();
    expect(scene.sent.slice(3)).toEqual([['b']]);
  });
});

describe('many requests in one go', () => {
  it('go out at once, though a call is under way and others wait', async () => {
    const scene = new OperationScene();
    scene.ask('a');
    await microtasks();
    scene.ask('b');
    void scene.operation.askAll(all('c', 'd'));
    expect(scene.sent).toEqual([['a'], ['c', 'd']]);
  });

  it('are answered in their order, whichever call is answered first', async () => {
    const scene = new OperationScene({ limit: 2 });
    const answers = watch(scene.operation.askAll(all('a', 'b', 'c', 'd', 'e')));
    scene.answer(2);
    scene.answer(1);
    await microtasks();
    expect(answers.settled).toBe(false);
    scene.answer(0);
    await microtasks();
    expect(answers.get()).toEqual(['of a', 'of b', 'of c', 'of d', 'of e']);
  });

  it('have an error in the place of each that has failed', async () => {
    const scene = new OperationScene({ limit: 2 });
    const answers = watch(scene.operation.askAll(all('a', 'b', 'c', 'd', 'e')));
    const wrong = new LockDriverError('WRONGTYPE');
    const down = serverError('CLUSTERDOWN');
    scene.runner.calls[0]!.answer([wrong, 'b']);
    scene.runner.calls[1]!.fail(down);
    scene.runner.calls[2]!.answer([]);
    await microtasks();
    expect(answers.get()).toEqual([wrong, 'b', down, down, expect.any(LockDriverError)]);
  });

  it('are all errors where all have failed', async () => {
    const scene = new OperationScene();
    const answers = watch(scene.operation.askAll(all('a', 'b')));
    const down = serverError('ERR');
    scene.runner.calls[0]!.fail(down);
    await microtasks();
    expect(answers.get()).toEqual([down, down]);
  });

  it('may be none: then nothing is sent', async () => {
    const scene = new OperationScene();
    const answers = watch(scene.operation.askAll([]));
    await microtasks();
    expect(answers.get()).toEqual([]);
    expect(scene.sent).toEqual([]);
  });

  it('hold back a lone request until they are answered', async () => {
    const scene = new OperationScene();
    void scene.operation.askAll(all('a', 'b'));
    scene.ask('c');
    await microtasks();
    expect(scene.sent).toEqual([['a', 'b']]);
    scene.answer(0);
    await microtasks();
    expect(scene.sent).toEqual([['a', 'b'], ['c']]);
  });
});
