import { Client } from 'pg';

/** Keeps the rows of locks locked, as somebody who looks at them by hand may do. */
export class Meddler implements AsyncDisposable {
  private readonly client: Client;

  private constructor(connectionString: string) {
    this.client = new Client({ connectionString });
  }

  static async lock(url: string, keys: readonly string[]): Promise<Meddler> {
    const meddler = new Meddler(url);
    await meddler.client.connect();
    await meddler.client.query('BEGIN');
    await meddler.client.query('SELECT FROM distributed_lock WHERE key = ANY ($1) FOR UPDATE', [
      keys,
    ]);
    return meddler;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.end();
  }
}
