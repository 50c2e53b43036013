import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
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
  return databaseOn(admin, name);
}

export function databaseOn(server: string, name: string): TestDatabase {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { name, url: url.href, query: (text, values) => query(url.href, text, values) };
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
