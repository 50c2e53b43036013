import { LockConfigError } from '../../errors/lock-config.error.js';
import { quote, type TableName } from './identifiers.js';
import type { Row } from './pg-port.js';
import type { Column, TableShape } from './schema.js';
import type { Statement } from './statement.js';

const RIGHTS = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'];

/** By name, and not by what is in the search path or may be used: that is what is to be found out. */
const FIND = `SELECT
  (n.oid IS NOT NULL)::text,
  has_schema_privilege(n.oid, 'USAGE')::text,
  c.relkind::text,
  c.relpersistence::text,
  (SELECT string_agg(p, ', ') FROM unnest($3::text[]) p WHERE NOT has_table_privilege(c.oid, p)),
  (SELECT json_object_agg(a.attname, format_type(a.atttypid, a.atttypmod) ||
      CASE WHEN o.collname IS NULL OR o.collname = 'default' THEN '' ELSE format(' COLLATE "%s"', o.collname) END)
    FROM pg_attribute a LEFT JOIN pg_collation o ON o.oid = a.attcollation
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)::text,
  (SELECT string_agg(a.attname, ', ') FROM pg_attribute a
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND a.attnotnull AND NOT a.atthasdef AND a.attidentity = ''
      AND NOT a.attisdropped AND a.attname <> ALL ($4::text[])),
  EXISTS (SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
    WHERE i.indrelid = c.oid AND i.indisunique AND i.indimmediate AND i.indnkeyatts = 1 AND i.indpred IS NULL
      AND i.indisvalid AND a.attname = $5)::text,
  current_user::text,
  current_setting('server_encoding'),
  pg_is_in_recovery()::text
FROM (SELECT 1) one
LEFT JOIN pg_namespace n ON n.nspname = $1
LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = $2`;

/** What there is of the table. */
export interface FoundTable {
  readonly hasSchema: boolean;
  readonly maySchema: boolean;
  readonly kind: string | null;
  readonly persistence: string | null;
  readonly missingRights: string | null;
  readonly columns: Readonly<Record<string, string>>;
  readonly foreign: string | null;
  readonly hasKey: boolean;
  readonly role: string | null;
  readonly encoding: string | null;
  readonly isStandby: boolean;
}

export function findTable({ schema, table }: TableName, { columns }: TableShape): Statement {
  const names = columns.map(({ name }) => name);
  const values = [schema, table, RIGHTS, names, names[0]];
  return { name: 'lock-find-table', text: FIND, values };
}

export function foundTable(row: Row | undefined): FoundTable {
  const [hasSchema, maySchema, kind, persistence, missingRights, columns, foreign, hasKey] =
    row ?? [];
  const [role, encoding, isStandby] = row?.slice(8) ?? [];
  return {
    hasSchema: hasSchema === 'true',
    maySchema: maySchema === 'true',
    kind: kind ?? null,
    persistence: persistence ?? null,
    missingRights: missingRights ?? null,
    columns: JSON.parse(columns ?? '{}') as Readonly<Record<string, string>>,
    foreign: foreign ?? null,
    hasKey: hasKey === 'true',
    role: role ?? null,
    encoding: encoding ?? null,
    isStandby: isStandby === 'true',
  };
}

/** Why the table is of no use as it is, and what to do; undefined if it is. */
export function complaintAbout(
  name: TableName,
  shape: TableShape,
  found: FoundTable,
): LockConfigError | undefined {
  const complaint =
    ofServer(found) ?? ofRights(name, found) ?? ofShape(shape, found) ?? ofColumns(shape, found);
  return complaint === undefined
    ? undefined
    : new LockConfigError(complaint.replaceAll('<table>', quote(name)));
}

function ofServer({ encoding, isStandby }: FoundTable): string | undefined {
  if (isStandby) {
    return 'This server is a standby, which takes no writes: connect to the primary';
  }
  return encoding === 'UTF8'
    ? undefined
    : `The database has the encoding ${encoding}, in which not every key can be written: it must be UTF8`;
}

function ofRights({ schema }: TableName, found: FoundTable): string | undefined {
  const { hasSchema, maySchema, kind, missingRights, role } = found;
  if (hasSchema && !maySchema) {
    return `The role "${role}" may not use the schema "${schema}": GRANT USAGE ON SCHEMA "${schema}" TO "${role}"`;
  }
  if (kind === null) {
    const what = hasSchema ? 'The table <table>' : `The schema "${schema}"`;
    return `${what} does not exist: run the SQL that \`schema()\` gives, or set \`createTable: true\``;
  }
  return missingRights === null
    ? undefined
    : `The role "${role}" lacks ${missingRights} on <table>: GRANT ${missingRights} ON <table> TO "${role}"`;
}

const ANOTHER_NAME = 'give the locks a table of their own by `schema` and `table`';

function ofShape(
  { whenEmptied, columns: [key] }: TableShape,
  { kind, persistence, hasKey, foreign }: FoundTable,
): string | undefined {
  if (kind !== 'r' && kind !== 'p') {
    return `<table> is no table: ${ANOTHER_NAME}`;
  }
  if (persistence !== 'p') {
    return `<table> is emptied by a crash of the server, and then ${whenEmptied}: ALTER TABLE <table> SET LOGGED`;
  }
  if (foreign !== null) {
    return `<table> has columns that are not known (${foreign}) and that must not be null: ${ANOTHER_NAME}`;
  }
  return hasKey
    ? undefined
    : `<table> has no unique index on "${key?.name}" alone: ${ANOTHER_NAME}`;
}

function ofColumns({ of, columns }: TableShape, found: FoundTable): string | undefined {
  const wrong = columns
    .map((column) => complaintOf(column, found.columns[column.name]))
    .filter((complaint) => complaint !== undefined);
  return wrong.length === 0
    ? undefined
    : `<table> is not the table of the ${of}: ${wrong.join('; ')}. Drop it, or ${ANOTHER_NAME}`;
}

function complaintOf({ name, type }: Column, found: string | undefined): string | undefined {
  if (found === undefined) {
    return `"${name}" is missing`;
  }
  return found === type ? undefined : `"${name}" is ${found} and must be ${type}`;
}
