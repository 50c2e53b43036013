import { beforeAll, describe, expect, it } from 'vitest';
import { PostgresLockDriver } from '../../../lib/drivers/postgres/index.js';
import { usePool, usePostgres } from '../../support/postgres/use-postgres.js';
import { Program } from '../../support/program.js';
import type { Granted } from './fence.program.js';

const PROCESSES = 8;
/** Longer than the smallest retention, or nothing would be forgotten; more by hand: FENCE_SECONDS=20. */
const SECONDS = Number(process.env['FENCE_SECONDS'] ?? 13);

interface Found {
  readonly granted: readonly Granted[];
  readonly failed: number;
}

describe('fencing tokens', () => {
  const database = usePostgres();
  const pool = usePool(database.url);

  // Under the row's lock, so the numbers are in the order in which the lock went from one to the next.
  beforeAll(async () => {
    const driver = new PostgresLockDriver({ pool });
    await driver.connect();
    await driver.close();
    await database.query(`
      CREATE TABLE history (number bigserial, operation text, key text COLLATE "C", owner text);
      CREATE FUNCTION remember() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO history (operation, key, owner) VALUES (TG_OP, coalesce(NEW.key, OLD.key), NEW.owner);
        RETURN NULL;
      END $$;
      CREATE TRIGGER remember AFTER INSERT OR UPDATE OR DELETE ON distributed_lock
        FOR EACH ROW EXECUTE FUNCTION remember();
      CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF random() < 0.02 THEN PERFORM pg_sleep(random()); END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER dawdle BEFORE INSERT OR UPDATE ON distributed_lock
        FOR EACH ROW EXECUTE FUNCTION dawdle();`);
  });

  it(
    `increase through ${PROCESSES} processes, delays and clean-up`,
    async () => {
      await using program = await Program.build(new URL('./fence.program.ts', import.meta.url));
      const found = await Promise.all(
        Array.from({ length: PROCESSES }, (_, i) =>
          program.run<Found>([`p${i}`, database.url, SECONDS]),
        ),
      );
      const tokens = new Map(
        found.flatMap(({ granted }) => granted.map(([owner, ...span]) => [owner, span] as const)),
      );
      const history = await database.query(
        `SELECT key, owner, min(number) FROM history WHERE owner IS NOT NULL GROUP BY key, owner ORDER BY 3`,
      );
      const [forgotten] = await database.query(
        `SELECT count(*)::int AS n FROM history WHERE operation = 'DELETE' AND key < 'b'`,
      );
      const largest = new Map<unknown, number>();
      const wrong: unknown[] = [];
      for (const { key, owner } of history) {
        const [first, last] = tokens.get(owner as string) ?? [Infinity, -Infinity];
        if (first <= (largest.get(key) ?? 0)) {
          wrong.push({ key, owner, first, before: largest.get(key) });
        }
        largest.set(key, Math.max(last, largest.get(key) ?? 0));
      }
      expect(wrong).toEqual([]);
      expect(tokens.size).toBeGreaterThan(100);
      // On a busy machine the short run may end before the clean-up comes to these keys.
      const atLeast = process.env['FENCE_SECONDS'] === undefined ? 0 : 1;
      expect(forgotten?.['n']).toBeGreaterThanOrEqual(atLeast);
    },
    (SECONDS + 60) * 1000,
  );
});
