import { beforeEach, describe, expect, it, vi } from 'vitest';
import { PgConnection } from '../../../../lib/drivers/postgres/pg-connection.js';
import type { PgClient, PgResult } from '../../../../lib/drivers/postgres/pg-port.js';
import { pooled } from '../../../../lib/drivers/postgres/protocol.js';
import { Deferred } from '../../../support/deferred.js';
import { watch } from '../../../support/outcome.js';

const STATEMENT = { name: 'x', text: 'x', values: [] };

type Answers = (text: string) => Partial<PgResult> | Promise<never>;

/** Answers each statement as the test says. */
class StubClient implements PgClient {
  destroyed = false;
  readonly #ended = new Deferred<never>();
  readonly connection = {
    stream: {
      destroy: () => {
        this.destroyed = true;
        this.#ended.reject(new Error('Connection terminated'));
      },
    },
  };

  constructor(private readonly answers: Answers) {
    this.#ended.promise.catch(() => undefined);
  }

  async connect(): Promise<void> {}

  async query({ text }: { readonly text: string }): Promise<PgResult> {
    const answer = await Promise.race([this.answers(text), this.#ended.promise]);
    return { command: text, rows: [], ...answer };
  }

  async end(): Promise<void> {}

  on(): void {}
}

const fail = (error: object) => () => {
  throw Object.assign(new Error('no'), error);
};

describe('a connection', () => {
  const clients: StubClient[] = [];
  let answers: Answers;
  let connection: PgConnection;

  beforeEach(() => {
    clients.length = 0;
    const create = async (): Promise<PgClient> => {
      const client = new StubClient((text) => answers(text));
      clients.push(client);
      return client;
    };
    connection = new PgConnection(create, pooled);
  });

  it('is used again after an error of the server', async () => {
    answers = fail({ severity: 'ERROR', code: '53100' });
    await expect(connection.run(STATEMENT)).rejects.toThrow('The disk of the server is full');
    answers = () => ({});
    await connection.run(STATEMENT);
    expect(clients).toHaveLength(1);
  });

  it.each([
    ['failed itself', {}],
    ['leads to a server that takes no writes', { severity: 'ERROR', code: '25006' }],
    ['is ended by an administrator', { severity: 'FATAL', code: '57P01' }],
    ['is ended for having been idle', { severity: 'FATAL', code: '25P03' }],
    ['is not understood', { severity: 'FATAL', code: '08P01' }],
  ])('is opened anew where it %s', async (_, error) => {
    answers = fail(error);
    await expect(connection.run(STATEMENT)).rejects.toHaveProperty('code', 'LOCK_DRIVER');
    expect(clients[0]?.destroyed).toBe(true);
    answers = () => ({});
    await connection.run(STATEMENT);
    expect(clients).toHaveLength(2);
  });

  it('is given up where the server does not answer', async () => {
    vi.useFakeTimers();
    answers = () => new Promise<never>(() => undefined);
    const outcome = watch(connection.run(STATEMENT));
    await vi.advanceTimersByTimeAsync(5999);
    expect(outcome.settled).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(outcome.error?.message).toBe('The server did not answer within 6 s');
    answers = () => ({});
    await connection.run(STATEMENT);
    expect(clients).toHaveLength(2);
    vi.useRealTimers();
  });

  it('takes nothing for done that was not committed', async () => {
    answers = (text) => (text === 'COMMIT' ? { command: 'ROLLBACK' } : { rows: [['a']] });
    await expect(connection.run(STATEMENT)).rejects.toThrow('answered COMMIT with ROLLBACK');
  });

  it('opens nothing once it is closed', async () => {
    await connection.close();
    await expect(connection.run(STATEMENT)).rejects.toThrow('The driver is closed');
    expect(clients).toHaveLength(0);
  });

  it('that is being opened ends when it is closed', async () => {
    answers = () => ({});
    const running = connection.run(STATEMENT);
    await connection.close();
    await expect(running).rejects.toThrow('The driver is closed');
    expect(clients.every(({ destroyed }) => destroyed)).toBe(true);
  });
});
