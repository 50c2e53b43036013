import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LockDriverError } from '../../../../lib/errors/lock-driver.error.js';
import { watch } from '../../../support/outcome.js';
import { microtasks } from './microtasks.js';
import { OperationScene, serverError } from './operation-scene.js';

let scene: OperationScene;

beforeEach(() => {
  vi.useFakeTimers();
  scene = new OperationScene({ limit: 2, slotOf: (key) => key.charCodeAt(0) });
});

afterEach(() => {
  vi.useRealTimers();
});

const all = (...keys: string[]): { key: string }[] => keys.map((key) => ({ key }));

describe('requests in a cluster', () => {
  it('never share a call with keys of another slot', async () => {
    const answers = ['a1', 'b1', 'a2', 'c1', 'b2'].map((key) => scene.ask(key));
    await microtasks();
    expect(scene.sent).toEqual([['a1', 'a2'], ['b1', 'b2'], ['c1']]);
    scene.sent.forEach((_, index) => scene.answer(index));
    await microtasks();
    expect(answers.map((answer) => answer.get())).toEqual([
      'of a1',
      'of b1',
      'of a2',
      'of c1',
      'of b2',
    ]);
  });

  it('do not wait for calls to another slot, only for those to their own', async () => {
    scene.ask('a1');
    await microtasks();
    scene.ask('b1');
    scene.ask('a2');
    await microtasks();
    expect(scene.sent).toEqual([['a1'], ['b1']]);
    scene.answer(0);
    await microtasks();
    expect(scene.sent).toEqual([['a1'], ['b1'], ['a2']]);
  });

  it('are answered in their order where many are made in one go', async () => {
    const answers = watch(scene.operation.askAll(all('a1', 'b1', 'a2', 'c1', 'b2', 'a3')));
    await microtasks();
    expect(scene.sent).toEqual([['a1', 'a2'], ['a3'], ['b1', 'b2'], ['c1']]);
    [3, 2, 1].forEach((index) => scene.answer(index));
    await microtasks();
    expect(answers.settled).toBe(false);
    scene.answer(0);
    await microtasks();
    expect(answers.get()).toEqual(['of a1', 'of b1', 'of a2', 'of c1', 'of b2', 'of a3']);
  });

  it('fail by themselves where many are made in one go', async () => {
    const answers = watch(scene.operation.askAll(all('a1', 'b1', 'a2')));
    await microtasks();
    const down = serverError('CLUSTERDOWN');
    scene.runner.calls[0]!.fail(down);
    scene.runner.calls[1]!.answer([]);
    await microtasks();
    expect(answers.get()).toEqual([down, expect.any(LockDriverError), down]);
  });

  it('may be none: then nothing is sent', async () => {
    const answers = watch(scene.operation.askAll([]));
    await microtasks();
    expect(answers.get()).toEqual([]);
    expect(scene.sent).toEqual([]);
  });

  it('that a node does not answer are errors when the patience is over, and keep no others waiting', async () => {
    const answers = watch(scene.operation.askAll(all('a1', 'b1', 'a2'), 500));
    await microtasks();
    scene.answer(0);
    await vi.advanceTimersByTimeAsync(499);
    expect(answers.settled).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    const known = ['of a1', expect.any(LockDriverError), 'of a2'];
    expect(answers.get()).toEqual(known);
    scene.answer(1);
    await microtasks();
    expect(answers.get()).toEqual(known);
  });

  it('need no patience where all are answered, and leave no timer', async () => {
    const answers = watch(scene.operation.askAll(all('a1', 'b1'), 500));
    await microtasks();
    scene.answer(0);
    scene.answer(1);
    await microtasks();
    expect(answers.get()).toEqual(['of a1', 'of b1']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('do not keep a process alive by their patience', async () => {
    const timers = vi.spyOn(globalThis, 'setTimeout');
    void scene.operation.askAll(all('a1'), 500);
    await microtasks();
    expect(timers.mock.results.map(({ value }) => (value as NodeJS.Timeout).hasRef())).toEqual([
      false,
    ]);
    timers.mockRestore();
  });

  it.each([2 ** 31, Infinity])('may be given a patience of %d ms', async (patience) => {
    const answers = watch(scene.operation.askAll(all('a1'), patience));
    await vi.advanceTimersByTimeAsync(1000);
    expect(answers.settled).toBe(false);
    scene.answer(0);
    await microtasks();
    expect(answers.get()).toEqual(['of a1']);
  });

  it('are waited for without end where there is no patience', async () => {
    const answers = watch(scene.operation.askAll(all('a1', 'b1')));
    await microtasks();
    scene.answer(0);
    await vi.advanceTimersByTimeAsync(100_000);
    expect(answers.settled).toBe(false);
  });
});
