import { describe, expect, it } from 'vitest';
import { UnderWay } from '../../../../lib/drivers/redis/under-way.js';
import { Deferred } from '../../../support/deferred.js';
import { watch } from '../../../support/outcome.js';
import { microtasks } from './microtasks.js';

describe('what is under way on a connection', () => {
  it('is answered, or fails, as it would by itself', async () => {
    const underWay = new UnderWay();
    await expect(underWay.follow(Promise.resolve('answer'))).resolves.toBe('answer');
    const error = new Error('refused');
    await expect(underWay.follow(Promise.reject(error))).rejects.toBe(error);
  });

  it('fails when the connection is lost, all of it, even if answers come afterwards', async () => {
    const underWay = new UnderWay();
    const answers = [new Deferred<string>(), new Deferred<string>()];
    const outcomes = answers.map(({ promise }) => watch(underWay.follow(promise)));
    underWay.lose();
    answers.forEach(({ resolve }) => resolve('late'));
    await microtasks();
    for (const { error } of outcomes) {
      expect(error?.message).toContain('connection was lost');
    }
  });

  it('may fail by itself after it was lost, and nobody minds', async () => {
    const underWay = new UnderWay();
    const answer = new Deferred<string>();
    const outcome = watch(underWay.follow(answer.promise));
    underWay.lose();
    answer.reject(new Error('closed'));
    await microtasks();
    expect(outcome.error?.message).toContain('connection was lost');
  });

  it('is what has begun since the connection was lost, not what was before or is answered', async () => {
    const underWay = new UnderWay();
    const first = watch(underWay.follow(Promise.resolve('first')));
    await microtasks();
    underWay.lose();
    underWay.lose();
    const second = new Deferred<string>();
    const outcome = watch(underWay.follow(second.promise));
    second.resolve('second');
    await microtasks();
    expect([first.get(), outcome.get()]).toEqual(['first', 'second']);
  });
});
