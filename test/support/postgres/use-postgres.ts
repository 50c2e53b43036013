import { randomUUID } from 'node:crypto';
import { Client, Pool, type PoolConfig } from 'pg';
import { afterAll, beforeAll, inject } from 'vitest';

/** A database of the shared server. */
export interface TestDatabase {
  readonly name: string;
  readonly url: string;
  /** Runs a statement, on a connection of its own. */
  query(text: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
}

/** A database for the tests of this file, which goes when they are done. */
export function usePostgres(settings: Readonly<Record<string, string>> = {}): TestDatabase {
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const admin = inject('postgres');
  beforeAll(async () => {
    await query(admin, `CREATE DATABASE ${name}`);
    for (const [setting, value] of Object.entries(settings)) {
      await query(admin, `ALTER DATABASE ${name} SET ${setting} = '${value}'`);
    }
  });
  afterAll(() => query(admin, `DROP DATABASE ${name} WITH (FORCE)`));
  return databaseAt(admin, name);
}

/** A pool as an application has it, which ends after the tests of this file. */
export function usePool(url: string, config: PoolConfig = {}): Pool {
  const pool = new Pool({ connectionString: url, ...config });
  // `end()` does not wait for the connections, and the database may go before they do.
  pool.on('error', () => undefined);
  afterAll(() => pool.end());
  return pool;
}

/** The database of the shared server from which others are looked after. */
export function adminDatabase(): TestDatabase {
  return databaseAt(inject('postgres'));
}

export function databaseAt(url: string, name = new URL(url).pathname.slice(1)): TestDatabase {
  const target = new URL(url);
  target.pathname = `/${name}`;
  return { name, url: target.href, query: (text, values) => query(target.href, text, values) };
}

async function query(
  connectionString: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(text, [...values])).rows;
  } finally {
    await client.end();
  }
}
