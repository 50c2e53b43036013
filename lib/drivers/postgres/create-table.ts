import { LockConfigError } from '../../errors/lock-config.error.js';
import { gateOf, type TableName } from './identifiers.js';
import type { Lanes } from './lanes.js';
import { codeOf } from './postgres-error.js';
import { createTables, GATE, LOCKS, type TableShape } from './schema.js';
import { complaintAbout, findTable, type FoundTable, foundTable } from './table-check.js';

/** Processes that start together create the tables one after the other: at the same time it fails even with IF NOT EXISTS. */
const ADVISORY_LOCK = `SELECT pg_advisory_xact_lock(hashtextextended('nestjs-distributed-lock', 0))`;
const PATIENCE = 30_000;
const PATIENT = `SELECT set_config('lock_timeout', '${PATIENCE}', true), set_config('statement_timeout', '${PATIENCE}', true)`;

/** The server may not do this for us. */
const NOT_ALLOWED = '42501';

/** What there is of both tables. */
interface FoundTables {
  readonly locks: FoundTable;
  readonly gate: FoundTable;
}

/**
 * Checks that the tables are as they must be, and where `create` says so makes them if they are not there. Whoever does
 * not use the gate can do without its table, so what is wrong with that alone is a warning.
 */
export async function prepareTables(
  lanes: Lanes,
  name: TableName,
  create: boolean,
): Promise<readonly string[]> {
  let found = await findBoth(lanes, name);
  if (create && isIncomplete(found) && !found.locks.isStandby) {
    await createMissing(lanes, name, found.locks);
    found = await findBoth(lanes, name);
  }
  const complaint = complaintAbout(name, LOCKS, found.locks);
  if (complaint !== undefined) {
    throw complaint;
  }
  return warningsOf(name, found.gate);
}

/** The table that is missing is told of when somebody comes to the gate. */
function warningsOf(name: TableName, gate: FoundTable): readonly string[] {
  const complaint =
    gate.kind === null ? undefined : complaintAbout(gateOf(name), GATE, gate)?.message;
  return complaint === undefined ? [] : [`The fencing gate will not work: ${complaint}`];
}

const isIncomplete = ({ locks, gate }: FoundTables): boolean =>
  locks.kind === null || gate.kind === null;

async function findBoth(lanes: Lanes, name: TableName): Promise<FoundTables> {
  return {
    locks: await find(lanes, name, LOCKS),
    gate: await find(lanes, gateOf(name), GATE),
  };
}

async function find(lanes: Lanes, name: TableName, shape: TableShape): Promise<FoundTable> {
  const [row] = await lanes.run(findTable(name, shape));
  return foundTable(row);
}

/** Several statements in one text are one transaction. */
async function createMissing(lanes: Lanes, name: TableName, locks: FoundTable): Promise<void> {
  const { schema } = name;
  const createSchema = locks.hasSchema ? '' : `CREATE SCHEMA IF NOT EXISTS "${schema}";`;
  const text = `${PATIENT}; ${ADVISORY_LOCK}; ${createSchema} ${createTables(name)}`;
  try {
    await lanes.run({ name: '', text, values: [], timeout: PATIENCE });
  } catch (error) {
    if (codeOf((error as Error).cause) !== NOT_ALLOWED) {
      throw error;
    }
    if (locks.kind === null) {
      throw notAllowed(schema, locks, error);
    }
  }
}

function notAllowed(schema: string, { role, hasSchema }: FoundTable, cause: unknown): Error {
  const right = hasSchema ? `CREATE ON SCHEMA "${schema}"` : 'CREATE ON DATABASE';
  return new LockConfigError(
    `The role "${role}" may not create the table of the locks: it lacks ${right}. Grant it, or run the SQL that ` +
      '`schema()` gives as another role and set `createTable: false`',
    { cause },
  );
}
