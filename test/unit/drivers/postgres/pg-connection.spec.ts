import { beforeEach, describe, expect, it } from 'vitest';
import { PgConnection } from '../../../../lib/drivers/postgres/pg-connection.js';
import type { PgClient, PgResult } from '../../../../lib/drivers/postgres/pg-port.js';
import { pooled } from '../../../../lib/drivers/postgres/protocol.js';

const STATEMENT = { name: 'x', text: 'x', values: [] };

/** Answers each statement as the test says. */
class StubClient implements PgClient {
  destroyed = false;
  readonly connection = { stream: { destroy: () => void (this.destroyed = true) } };

  constructor(private readonly answers: (text: string) => Partial<PgResult>) {}

  async connect(): Promise<void> {}

  async query({ text }: { readonly text: string }): Promise<PgResult> {
    return { command: text, rows: [], ...this.answers(text) };
  }

  async end(): Promise<void> {}

  on(): void {}
}

const fail = (error: object) => () => {
  throw Object.assign(new Error('no'), error);
};

describe('a connection', () => {
  const clients: StubClient[] = [];
  let answers: (text: string) => Partial<PgResult>;
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
  ])('is opened anew where it %s', async (_, error) => {
    answers = fail(error);
    await expect(connection.run(STATEMENT)).rejects.toHaveProperty('code', 'LOCK_DRIVER');
    expect(clients[0]?.destroyed).toBe(true);
    answers = () => ({});
    await connection.run(STATEMENT);
    expect(clients).toHaveLength(2);
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
