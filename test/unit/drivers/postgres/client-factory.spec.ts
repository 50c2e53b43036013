import { Client, Pool, types } from 'pg';
import { describe, expect, it, vi } from 'vitest';
import { clientFactory } from '../../../../lib/drivers/postgres/client-factory.js';
import { resolvePostgresOptions } from '../../../../lib/drivers/postgres/postgres-options.js';

/** Made as a driver with these options makes them; nothing is connected. */
const clientOf = async (options: object): Promise<Client> =>
  (await clientFactory(resolvePostgresOptions(options))()) as unknown as Client;

const parametersOf = (client: Client): Record<string, unknown> =>
  Reflect.get(client, 'connectionParameters') as Record<string, unknown>;

const password = async (): Promise<string> => 'of this minute';

describe('a client of our own', () => {
  it('connects as those of the pool do, by functions too', async () => {
    const ssl = { key: 'k', cert: 'c', rejectUnauthorized: false };
    const stream = vi.fn<() => never>();
    const settings = { host: 'far.example', port: 1234, user: 'me', database: 'd' };
    const pool = new Pool({ ...settings, password, ssl });
    Reflect.set(pool.options, 'stream', stream);
    stream.mockReturnValue({ on: () => undefined } as never);
    const client = await clientOf({ pool });
    expect(client).toMatchObject(settings);
    expect(client.password).toBe(password);
    expect(parametersOf(client)['ssl']).toBe(ssl);
    expect(stream).toHaveBeenCalledTimes(1);
  });

  it('is of the class that the pool makes its own of', async () => {
    class OwnClient extends Client {}
    const pool = new Pool();
    Reflect.set(pool, 'Client', OwnClient);
    expect(await clientOf({ pool })).toBeInstanceOf(OwnClient);
  });

  it('has limits of its own, whatever the pool or the connection string says', async () => {
    const limits = { statement_timeout: 1, lock_timeout: 1, query_timeout: 1 };
    const query = 'statement_timeout=1&lock_timeout=1&query_timeout=1&application_name=mine';
    const given = { idle_in_transaction_session_timeout: 1, application_name: 'mine', ...limits };
    for (const client of [
      await clientOf({ pool: new Pool(given) }),
      await clientOf({ connectionString: `postgres://host/d?${query}` }),
    ]) {
      expect(parametersOf(client)).toMatchObject({
        application_name: 'nestjs-distributed-lock',
        statement_timeout: false,
        lock_timeout: false,
        query_timeout: false,
        idle_in_transaction_session_timeout: false,
        options: expect.stringContaining('-c lock_timeout=2000'),
      });
    }
  });

  it('keeps the options of the session that the user has set', async () => {
    const options = '-c search_path=mine';
    const direct = await clientOf({ pool: new Pool({ options }) });
    expect(parametersOf(direct)['options']).toMatch(/^-c search_path=mine -c statement_timeout=/);
    const shared = await clientOf({ pool: new Pool({ options }), prepare: false });
    expect(parametersOf(shared)['options']).toBe(options);
  });

  it('gives all columns as text, whatever parsers the user has set', async () => {
    const parse = vi.fn<() => never>();
    const client = await clientOf({
      pool: new Pool({ types: { getTypeParser: () => parse } }),
    });
    expect(client.getTypeParser(types.builtins.INT8)('7')).toBe('7');
    expect(parse).not.toHaveBeenCalled();
  });

  it('changes nothing in the options of the pool', async () => {
    const pool = new Pool({ password: 'secret', statement_timeout: 1 });
    const before = { ...pool.options };
    await clientOf({ pool });
    expect(pool.options).toEqual(before);
    expect(pool.options.password).toBe('secret');
  });
});
