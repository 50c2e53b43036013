import type { Redis } from 'ioredis';
import { Client } from 'pg';

/** Checks a write before it is done, in its transaction where there is one. */
export type Admit = (transaction?: unknown) => Promise<void>;

/** Where leaders write what only a leader may. */
export interface Ledger {
  write(line: string, admit: Admit): Promise<void>;
}

/** In a list of Redis, which knows no transaction that a check could be part of. */
export class RedisLedger implements Ledger {
  constructor(
    private readonly redis: Redis,
    private readonly name: string,
  ) {}

  async write(line: string, admit: Admit): Promise<void> {
    await admit();
    await this.redis.rpush(`ledger:${this.name}`, line);
  }
}

/** In a table of PostgreSQL: check and write commit together. */
export class PostgresLedger implements Ledger {
  constructor(
    private readonly connectionString: string,
    private readonly name: string,
  ) {}

  async write(line: string, admit: Admit): Promise<void> {
    const client = new Client({ connectionString: this.connectionString });
    await client.connect();
    try {
      await client.query('BEGIN');
      await admit(client);
      await client.query('INSERT INTO ledger (name, line) VALUES ($1, $2)', [this.name, line]);
      await client.query('COMMIT');
    } finally {
      // What has not been committed is undone by that.
      await client.end();
    }
  }
}
