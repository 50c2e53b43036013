import type { Pool, PoolClient } from 'pg';
import type { RecordedTick, Tick } from './tick.js';
import type { Admit, TicksRepository } from './ticks.repository.js';

/** As `pg` gives it: large integers are text. */
interface Row {
  readonly slot: string;
  readonly node: string;
  readonly fencing_token: string;
  readonly runs: number;
}

export class PostgresTicksRepository implements TicksRepository {
  constructor(private readonly pool: Pool) {}

  async prepare(): Promise<void> {
    await this.remove();
    await this.pool.query(
      `CREATE TABLE scheduler_ticks (
         slot bigint PRIMARY KEY, node text NOT NULL, fencing_token bigint NOT NULL, runs integer NOT NULL DEFAULT 1
       )`,
    );
  }

  async lastSlot(): Promise<number> {
    const { rows } = await this.pool.query<Pick<Row, 'slot'>>(
      'SELECT coalesce(max(slot), 0) AS slot FROM scheduler_ticks',
    );
    return Number(rows[0]?.slot);
  }

  /** Check and write commit together: a leader that was paused between them writes nothing. */
  async save({ slot, node, fencingToken }: Tick, admit: Admit): Promise<void> {
    await this.inTransaction(async (client) => {
      await admit(client);
      await client.query(
        `INSERT INTO scheduler_ticks AS t (slot, node, fencing_token) VALUES ($1, $2, $3)
         ON CONFLICT (slot) DO UPDATE SET runs = t.runs + 1`,
        [slot, node, fencingToken],
      );
    });
  }

  async findAll(): Promise<readonly RecordedTick[]> {
    const { rows } = await this.pool.query<Row>('SELECT * FROM scheduler_ticks ORDER BY slot');
    return rows.map(({ slot, node, fencing_token, runs }) => ({
      slot: Number(slot),
      node,
      fencingToken: BigInt(fencing_token),
      runs,
    }));
  }

  async remove(): Promise<void> {
    await this.pool.query('DROP TABLE IF EXISTS scheduler_ticks');
  }

  private async inTransaction(work: (client: PoolClient) => Promise<void>): Promise<void> {
    const client = await this.pool.connect();
    try {
      await client.query('BEGIN');
      await work(client);
      await client.query('COMMIT');
    } catch (error) {
      // It also fails if the connection is gone, which is then told by the first error.
      await client.query('ROLLBACK').catch(() => undefined);
      throw error;
    } finally {
      client.release();
    }
  }
}
