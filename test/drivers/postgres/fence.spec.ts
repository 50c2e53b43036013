import { type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { beforeAll, describe, expect, it } from 'vitest';
import { PostgresLockDriver } from '../../../lib/drivers/postgres/index.js';
import { SMALLEST_RETENTION } from '../../../lib/drivers/postgres/timeouts.js';
import { usePool, usePostgres } from '../../support/postgres/use-postgres.js';
import { Program } from '../../support/program.js';
import type { Granted, Order } from './fence.program.js';

const PROCESSES = 8;
/** How long to work before and after the clean-up; by hand FENCE_SECONDS=20, and then nothing is made to look older than it is. */
const SECONDS = process.env['FENCE_SECONDS'];
const TURNS_OF_EACH_KEY = 5;
const PATIENCE = { timeout: 120_000 };

const keysOf = (group: string): string[] => Array.from({ length: 6 }, (_, i) => `${group}:${i}`);
const [forgotten, lost, ahead] = ['forgotten', 'lost', 'ahead'].map(keysOf) as [
  string[],
  string[],
  string[],
];
const ALL = [...forgotten, ...lost, ...ahead];

/** Where those locks are whose last token is ahead of the clock, as it is once the clock was set back. */
const AHEAD = (Date.now() + 3_600_000) * 1000;

const database = usePostgres();
const pool = usePool(database.url);

/**
 * What became of each row, in the order in which its lock went from one to the next: the trigger runs under the row's
 * lock. The other one delays statements.
 */
beforeAll(async () => {
  const driver = new PostgresLockDriver({ pool });
  await driver.connect();
  await driver.close();
  await database.query(`
    CREATE TABLE history (number bigserial, operation text, key text COLLATE "C", owner text);
    CREATE FUNCTION remember() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF coalesce(NEW.key, OLD.key) NOT LIKE 'new:%' THEN
        INSERT INTO history (operation, key, owner) VALUES (TG_OP, coalesce(NEW.key, OLD.key), NEW.owner);
      END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER remember AFTER INSERT OR UPDATE OR DELETE ON distributed_lock
      FOR EACH ROW EXECUTE FUNCTION remember();
    CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF NEW.key NOT LIKE 'new:%' AND random() < 0.02 THEN PERFORM pg_sleep(random()); END IF;
      RETURN NEW;
    END $$;
    CREATE TRIGGER dawdle BEFORE INSERT OR UPDATE ON distributed_lock
      FOR EACH ROW EXECUTE FUNCTION dawdle();`);
  await database.query(
    `INSERT INTO distributed_lock SELECT key, NULL, -1, $2, 1, 0 FROM unnest($1::text[]) key`,
    [ahead, AHEAD],
  );
});

async function startProcess(program: Program, id: string): Promise<ChildProcess> {
  const child = program.start([id, database.url]);
  await once(child, 'message');
  return child;
}

/** Lets all work until something has come true, and then rest; gives what they were granted. */
async function work(
  children: readonly ChildProcess[],
  order: Order,
  until: () => Promise<void>,
): Promise<readonly Granted[]> {
  children.forEach((child) => child.send(order));
  await until();
  const answers = children.map((child) => once(child, 'message') as Promise<[Granted[]]>);
  children.forEach((child) => child.send({ keys: [] } satisfies Order));
  return (await Promise.all(answers)).flatMap(([granted]) => granted);
}

async function everyKeyHadTurns(): Promise<void> {
  const [start] = await database.query(`SELECT coalesce(max(number), 0) AS number FROM history`);
  const text = `SELECT count(*)::int AS n FROM (SELECT key FROM history WHERE owner IS NOT NULL AND number > $1
    GROUP BY key HAVING count(DISTINCT owner) >= ${TURNS_OF_EACH_KEY}) served`;
  const served = async (): Promise<unknown> =>
    (await database.query(text, [start?.['number']]))[0]?.['n'];
  const end = performance.now() + (Number(SECONDS ?? 0) * 1000) / 2;
  await expect
    .poll(async () => performance.now() > end && (await served()), PATIENCE)
    .toBe(ALL.length);
}

async function forgottenByCleanUp(): Promise<void> {
  const text = `SELECT DISTINCT key FROM history WHERE operation = 'DELETE' ORDER BY key`;
  const deleted = async (): Promise<unknown> => (await database.query(text)).map(({ key }) => key);
  await expect.poll(deleted, PATIENCE).toEqual(expect.arrayContaining(forgotten));
}

/** Nobody has used them meanwhile. */
async function makeOld(keys: readonly string[]): Promise<void> {
  const text = `UPDATE distributed_lock SET owner = NULL, last = last - $2::bigint, expires = $2::bigint - last WHERE key = ANY ($1)`;
  await database.query(text, [keys, 2000 * SMALLEST_RETENTION]);
}

/** All grants whose tokens do not follow those before them. */
async function regressions(granted: readonly Granted[]): Promise<unknown[]> {
  const tokens = new Map(granted.map(([owner, ...span]) => [owner, span] as const));
  const largest = new Map<unknown, number>(ahead.map((key) => [key, AHEAD]));
  const history = await database.query(
    `SELECT key, owner, min(number) FROM history WHERE owner IS NOT NULL GROUP BY key, owner ORDER BY 3`,
  );
  return history.flatMap(({ key, owner }) => {
    const [first, last] = tokens.get(owner as string) ?? [Infinity, -Infinity];
    const before = largest.get(key) ?? 0;
    largest.set(key, Math.max(last, before));
    return first <= before ? [{ key, owner, first, before }] : [];
  });
}

describe('fencing tokens', () => {
  it(
    `increase through ${PROCESSES} processes, delays, clean-up, loss of rows and a clock that was set back`,
    async () => {
      await using program = await Program.build(new URL('./fence.program.ts', import.meta.url));
      const children = await Promise.all(
        Array.from({ length: PROCESSES }, (_, i) => startProcess(program, `p${i}`)),
      );
      const before = await work(children, { keys: ALL }, everyKeyHadTurns);
      await (SECONDS === undefined ? makeOld(forgotten) : undefined);
      const others = { keys: [...lost, ...ahead], newcomers: true };
      const meanwhile = await work(children, others, forgottenByCleanUp);
      await database.query('DELETE FROM distributed_lock WHERE key = ANY ($1)', [lost]);
      const after = await work(children, { keys: ALL }, everyKeyHadTurns);
      children.forEach((child) => child.disconnect());
      await Promise.all(children.map((child) => once(child, 'exit')));
      expect(await regressions([...before, ...meanwhile, ...after])).toEqual([]);
      expect(after.length).toBeGreaterThanOrEqual(ALL.length * TURNS_OF_EACH_KEY);
    },
    3 * PATIENCE.timeout,
  );
});
