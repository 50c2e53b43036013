import { Pool } from 'pg';
import { LockService } from 'nestjs-distributed-lock';
import { PostgresLockDriver } from 'nestjs-distributed-lock/postgres';
import { PostgresServer } from '../test/support/postgres/postgres-server.js';
import type { Contestant, Standing } from './support/alternate.js';
import type { Bench, Finding } from './support/bench.js';
import { ratio } from './support/compare.js';
import { handover } from './support/postgres-handover.js';
import { takeTurns } from './support/take-turns.js';

const KEYS = 100;
const IN_FLIGHT = 64;
/** Those of a driver with default options. */
const CONNECTIONS = 3;
const BLOAT_OPERATIONS = 200_000;

const INSERT = `INSERT INTO raw_lock (key, owner, expires) VALUES ($1, $2, now() + interval '30 s')
ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, expires = excluded.expires WHERE raw_lock.expires < now()
RETURNING owner`;
const DELETE = 'DELETE FROM raw_lock WHERE key = $1 AND owner = $2';

/** The server is this bench's own, and its commits wait for the disk. What counts is the time on the clock. */
export const postgres: Bench = {
  name: 'postgres',
  about: 'acquire() and release() on PostgreSQL, of INSERT ... ON CONFLICT and DELETE by a pg Pool',
  run: async () => {
    await using server = await PostgresServer.start({ durable: true });
    const pool = new Pool({ connectionString: server.url(), max: CONNECTIONS });
    await pool.query(
      'CREATE TABLE raw_lock (key text PRIMARY KEY, owner text, expires timestamptz)',
    );
    const locks = new LockService({ driver: new PostgresLockDriver(pool), drainTimeout: 0 });
    await locks.onModuleInit();
    const findings = [
      ...(await compare('one after the other', 1.3, locks, pool, alone, 200)),
      ...(await compare(`${IN_FLIGHT} in flight`, 5, locks, pool, together, 20 * IN_FLIGHT)),
      ...(await bloat(locks, pool)),
      ...(await handover(server.url())),
    ];
    await locks[Symbol.asyncDispose]();
    await pool.end();
    return findings;
  },
};

type Turn = (key: string) => Promise<unknown>;
type Way = (turn: Turn) => Contestant['run'];

const alone: Way = (turn) => async (operations) => {
  for (let i = 0; i < operations; i++) {
    await turn(`bench:${i % KEYS}`);
  }
};

/** Each with keys of its own. */
const together: Way = (turn) => async (operations) => {
  const worker = async (id: number): Promise<void> => {
    for (let i = 0; i < operations / IN_FLIGHT; i++) {
      await turn(`bench:${id}`);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, (_, id) => worker(id)));
};

async function compare(
  what: string,
  atLeast: number,
  locks: LockService,
  pool: Pool,
  way: Way,
  operations: number,
): Promise<Finding[]> {
  const raw = way(rawTurn(pool));
  const [plain, ours, again, byHand] = (await takeTurns(
    [
      { name: 'pg', run: raw },
      { name: 'LockService', run: way(lockTurn(locks)) },
      { name: 'pg again', run: raw },
      { name: 'pg by hand', run: way(leanTurn(pool)) },
    ],
    operations,
  )) as [Standing, Standing, Standing, Standing];
  return [
    { ...ratio(what, ours, plain, 'wall'), target: { bound: 'at least', value: atLeast } },
    ratio('  control: pg again', again, plain, 'wall'),
    ratio('  prepared by hand, DELETE not waiting for the disk', byHand, plain, 'wall'),
    ratio('  in CPU time of this process', ours, plain),
  ];
}

function lockTurn(locks: LockService): Turn {
  return async (key) => {
    const lock = await locks.acquire(key);
    await lock.release();
  };
}

function rawTurn(pool: Pool): Turn {
  let count = 0;
  return async (key) => {
    const owner = `owner#${count++}`;
    await pool.query(INSERT, [key, owner]);
    await pool.query(DELETE, [key, owner]);
  };
}

/** About as little as two round trips, one of which waits for the disk, can do. */
function leanTurn(pool: Pool): Turn {
  const text = `${DELETE} RETURNING set_config('synchronous_commit', 'off', true)`;
  let count = 0;
  return async (key) => {
    const values = [key, `by hand#${count++}`];
    await pool.query({ name: 'insert', text: INSERT, values });
    await pool.query({ name: 'delete', text, values });
  };
}

/** How much larger the table is after many turns on the same locks. */
async function bloat(locks: LockService, pool: Pool): Promise<Finding[]> {
  await pool.query('VACUUM FULL distributed_lock');
  await pool.query(`SELECT pg_stat_reset_single_table_counters('distributed_lock'::regclass)`);
  await alone(lockTurn(locks))(KEYS);
  const before = await sizeOf(pool);
  await together(lockTurn(locks))(BLOAT_OPERATIONS);
  const after = await sizeOf(pool);
  const { rows } = await pool.query<{ hot: number; all: number }>(
    `SELECT n_tup_hot_upd::float AS hot, n_tup_upd::float AS all FROM pg_stat_user_tables WHERE relname = 'distributed_lock'`,
  );
  const [{ hot, all } = { hot: 0, all: 1 }] = rows;
  return [
    {
      what: `size of the table after ${BLOAT_OPERATIONS.toLocaleString('en')} turns on ${KEYS} keys`,
      median: after / before,
      unit: 'x',
      target: { bound: 'below', value: 2 },
      note: `${before} to ${after} bytes`,
    },
    {
      what: '  updates that touched no index (HOT)',
      median: (100 * hot) / all,
      unit: '%',
      target: { bound: 'at least', value: 99 },
      note: `n_tup_hot_upd ${hot} of n_tup_upd ${all}`,
    },
  ];
}

/** Rows and index, without the maps of free space, which vacuum makes once and in one size. */
async function sizeOf(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ size: number }>(
    `SELECT (pg_relation_size('distributed_lock') + pg_indexes_size('distributed_lock'))::float AS size`,
  );
  return rows[0]?.size ?? 0;
}
