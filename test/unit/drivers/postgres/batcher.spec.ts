import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Batcher, type Operation } from '../../../../lib/drivers/postgres/batcher.js';
import { type Job, Lanes } from '../../../../lib/drivers/postgres/lanes.js';
import type { PgConnection } from '../../../../lib/drivers/postgres/pg-connection.js';
import type { Row } from '../../../../lib/drivers/postgres/pg-port.js';
import type { Statement } from '../../../../lib/drivers/postgres/statement.js';
import { LockDriverError } from '../../../../lib/errors/lock-driver.error.js';
import { Deferred } from '../../../support/deferred.js';
import { watch } from '../../../support/outcome.js';

interface Request {
  readonly key: string;
}

const upper: Operation<Request, string> = {
  limit: 3,
  check: () => undefined,
  statement: (requests) => ({ name: 'upper', text: '', values: requests.map(({ key }) => key) }),
  answers: (requests, rows) => requests.map((_, i) => rows[i]?.[0] ?? new Error('none')),
};

const tick = (): Promise<unknown> => new Promise((resolve) => setImmediate(resolve));

describe('a batcher', () => {
  /** The statements that were sent, and how the test answers each. */
  const sent: { values: unknown[]; answer: (fails?: unknown) => void }[] = [];

  const connection = {
    run: ({ values }: Statement) =>
      new Promise<readonly Row[]>((resolve, reject) => {
        const answer = (fails?: unknown): void =>
          fails === undefined
            ? resolve(values.map((value) => [String(value).toUpperCase()]))
            : reject(fails);
        sent.push({ values: [...values], answer });
      }),
  } as Partial<PgConnection> as PgConnection;

  let batcher: Batcher<Request, string>;
  beforeEach(() => {
    sent.length = 0;
    vi.useFakeTimers({ toFake: ['performance'] });
    batcher = new Batcher(new Lanes([connection]), upper);
  });
  afterEach(() => vi.useRealTimers());

  const ask = (...keys: string[]) => keys.map((key) => watch(batcher.ask({ key })));
  const lockTimeout = new LockDriverError('x', { cause: { code: '55P03' } });

  it('sends what one tick asks for together, up to its limit and one of a key at a time', async () => {
    const answers = ask('a', 'b', 'a', 'c', 'd');
    await tick();
    expect(sent.map(({ values }) => values)).toEqual([['a', 'b', 'c']]);
    sent[0]?.answer();
    await tick();
    expect(sent[1]?.values).toEqual(['a', 'd']);
    sent[1]?.answer();
    await tick();
    expect(answers.map((answer) => answer.get())).toEqual(['A', 'B', 'A', 'C', 'D']);
  });

  it('gives the answer of each to each, errors too', async () => {
    const [answer] = ask('a');
    await tick();
    sent[0]?.answer(new Error('broken'));
    await tick();
    expect(answer?.error?.message).toBe('broken');
  });

  it('sends each alone where one of them may have failed the others', async () => {
    const answers = ask('a', 'b');
    await tick();
    sent[0]?.answer(lockTimeout);
    await tick();
    sent[1]?.answer(lockTimeout);
    await tick();
    sent[2]?.answer();
    await tick();
    expect(sent.map(({ values }) => values)).toEqual([['a', 'b'], ['a'], ['b']]);
    expect(answers[0]?.error).toBe(lockTimeout);
    expect(answers[1]?.get()).toBe('B');
  });

  it('sends all of them once more where the operation knows how', async () => {
    const codes: unknown[] = [];
    const secondTry = (requests: readonly Request[], code?: string) => {
      codes.push(code);
      return requests.length > 1 ? upper.statement(requests.slice(1)) : undefined;
    };
    batcher = new Batcher(new Lanes([connection]), { ...upper, secondTry });
    const answers = ask('a', 'b');
    await tick();
    sent[0]?.answer(lockTimeout);
    await tick();
    sent[1]?.answer(lockTimeout);
    const [lone] = ask('c');
    await tick();
    sent[2]?.answer(lockTimeout);
    await tick();
    expect(sent.map(({ values }) => values)).toEqual([['a', 'b'], ['b'], ['c']]);
    expect(codes).toEqual(['55P03', '55P03']);
    const refused = [...answers, lone].filter((answer) => answer?.error === lockTimeout);
    expect(refused).toHaveLength(3);
  });

  it('sends nothing again where it is unknown what was done', async () => {
    const answers = ask('a', 'b');
    await tick();
    sent[0]?.answer(new Error('connection lost'));
    await tick();
    expect(sent).toHaveLength(1);
    expect(answers.map(({ error }) => error?.message)).toEqual(Array(2).fill('connection lost'));
  });

  it('does not send what nobody waits for any more', async () => {
    const [first] = ask('a');
    await tick();
    const [stale] = ask('b');
    vi.advanceTimersByTime(5001);
    const [fresh] = ask('c');
    sent[0]?.answer();
    await tick();
    sent[1]?.answer();
    await tick();
    expect(sent.map(({ values }) => values)).toEqual([['a'], ['c']]);
    expect(stale?.error?.message).toMatch(/was not sent/);
    expect([first?.get(), fresh?.get()]).toEqual(['A', 'C']);
  });
});

describe('lanes', () => {
  it('use the connection that was used last, and tell when all are idle', async () => {
    const connections: Partial<PgConnection>[] = [{}, {}];
    const lanes = new Lanes(connections as PgConnection[]);
    const used: PgConnection[] = [];
    const use: Job = async (connection) => void used.push(connection);
    lanes.add(use);
    await lanes.idle();
    lanes.add(use);
    await lanes.idle();
    expect(used[0]).toBe(used[1]);
    const [one, other] = [new Deferred(), new Deferred()];
    lanes.add(() => one.promise);
    lanes.add(() => other.promise);
    const idle = watch(lanes.idle());
    one.resolve();
    await tick();
    expect(idle.settled).toBe(false);
    other.resolve();
    await tick();
    expect(idle.settled).toBe(true);
  });
});
