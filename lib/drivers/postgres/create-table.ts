import { LockConfigError } from '../../errors/lock-config.error.js';
import type { TableName } from './identifiers.js';
import type { Lanes } from './lanes.js';
import { codeOf } from './postgres-error.js';
import { createTable } from './schema.js';
import { complaintAbout, findTable, type FoundTable, foundTable } from './table-check.js';

/** Processes that start together create the table one after the other: at the same time it fails even with IF NOT EXISTS. */
const ADVISORY_LOCK = `SELECT pg_advisory_xact_lock(hashtextextended('nestjs-distributed-lock', 0))`;
const PATIENCE = 30_000;
const PATIENT = `SELECT set_config('lock_timeout', '${PATIENCE}', true), set_config('statement_timeout', '${PATIENCE}', true)`;

/** Checks that the table is as it must be, and where `create` says so makes it if it is not there. */
export async function prepareTable(lanes: Lanes, name: TableName, create: boolean): Promise<void> {
  let found = await find(lanes, name);
  if (create && found.kind === null && !found.isStandby) {
    await createMissing(lanes, name, found);
    found = await find(lanes, name);
  }
  const complaint = complaintAbout(name, found);
  if (complaint !== undefined) {
    throw complaint;
  }
}

async function find(lanes: Lanes, name: TableName): Promise<FoundTable> {
  const [row] = await lanes.run(findTable(name));
  return foundTable(row);
}

/** Several statements in one text are one transaction. */
async function createMissing(lanes: Lanes, name: TableName, found: FoundTable): Promise<void> {
  const { schema } = name;
  const createSchema = found.hasSchema ? '' : `CREATE SCHEMA IF NOT EXISTS "${schema}";`;
  const text = `${PATIENT}; ${ADVISORY_LOCK}; ${createSchema} ${createTable(name)}`;
  try {
    await lanes.run({ name: '', text, values: [], timeout: PATIENCE });
  } catch (error) {
    throw codeOf((error as Error).cause) === '42501' ? notAllowed(schema, found, error) : error;
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
