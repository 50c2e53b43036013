import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LockDriverError } from '../../../../lib/errors/lock-driver.error.js';
import { within } from '../../../../lib/drivers/redis/within.js';
import { Deferred } from '../../../support/deferred.js';
import { watch } from '../../../support/outcome.js';
import { microtasks } from './microtasks.js';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

describe('an answer within a time', () => {
  it('is passed on, well or bad, and leaves no timer', async () => {
    await expect(within(10, 'list', Promise.resolve('answer'))).resolves.toBe('answer');
    const error = new Error('refused');
    await expect(within(10, 'list', Promise.reject(error))).rejects.toBe(error);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is not waited for any longer, and the error says what was asked for', async () => {
    const outcome = watch(within(10, 'list', new Deferred().promise));
    await vi.advanceTimersByTimeAsync(9);
    expect(outcome.settled).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(outcome.error).toBeInstanceOf(LockDriverError);
    expect(outcome.error?.message).toBe('Redis has not answered list within 10 ms');
  });

  it('may come too late: then it is taken care of, once', async () => {
    const [answer, late] = [new Deferred<string>(), vi.fn<(answer: string) => void>()];
    const outcome = watch(within(10, 'connect', answer.promise, late));
    await vi.advanceTimersByTimeAsync(10);
    expect(late).not.toHaveBeenCalled();
    answer.resolve('late');
    await microtasks();
    expect(late.mock.calls).toEqual([['late']]);
    expect(outcome.error?.message).toContain('connect');
  });

  it('is nothing to take care of where it came in time', async () => {
    const late = vi.fn<(answer: string) => void>();
    await within(10, 'connect', Promise.resolve('in time'), late);
    await vi.advanceTimersByTimeAsync(20);
    expect(late).not.toHaveBeenCalled();
  });

  it('may fail too late, and nobody minds', async () => {
    const answer = new Deferred<string>();
    const outcome = watch(within(10, 'connect', answer.promise));
    await vi.advanceTimersByTimeAsync(10);
    answer.reject(new Error('late'));
    await microtasks();
    expect(outcome.error?.message).toContain('not answered');
  });

  it('may be given longer than timers can be set for', async () => {
    const answer = new Deferred<string>();
    const outcome = watch(within(2 ** 31 + 1000, 'connect', answer.promise));
    await vi.advanceTimersByTimeAsync(1000);
    expect(outcome.settled).toBe(false);
    answer.resolve('in time');
    await microtasks();
    expect(outcome.get()).toBe('in time');
  });
});
