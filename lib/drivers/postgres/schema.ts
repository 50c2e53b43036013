import { mergeOptions, type OptionParsers } from '../../options/option-parsers.js';
import { gateOf, quote, schemaName, tableName, type TableName } from './identifiers.js';

export const DEFAULT_TABLE: TableName = { schema: 'public', table: 'distributed_lock' };

const PARSERS: OptionParsers<TableName> = { schema: schemaName, table: tableName };

/** What a column must be; more columns do no harm. */
export interface Column {
  readonly name: string;
  readonly type: string;
  readonly nullable?: true;
}

/** A table of this driver; its first column is the key. */
export interface TableShape {
  /** Whose table it is, in messages. */
  readonly of: string;
  /** What happens when a crash of the server empties it. */
  readonly whenEmptied: string;
  readonly columns: readonly Column[];
}

/**
 * All times are microseconds since 1970 by the server's clock.
 *
 * - `owner` is null while the lock is free, and while it is only kept taken.
 * - `expires` is when the lock becomes anybody's; once it was released, the negated time of that, so that a clock set
 *   back cannot make it taken again.
 * - `last` is the largest token that was ever granted.
 * - `n` is the number of tokens in the last grant; below 1 it was the first grant of this row, and counts as 1.
 * - `wanted` is until when somebody else wants the lock; below 1 nobody does.
 */
export const LOCKS: TableShape = {
  of: 'locks',
  whenEmptied: 'held locks are granted again',
  columns: [
    { name: 'key', type: 'text COLLATE "C"' },
    { name: 'owner', type: 'text COLLATE "C"', nullable: true },
    { name: 'expires', type: 'bigint' },
    { name: 'last', type: 'bigint' },
    { name: 'n', type: 'integer' },
    { name: 'wanted', type: 'bigint' },
  ],
};

/**
 * - `token` is the newest token that the resource has seen.
 * - `expires` is when the row may go; times as above.
 */
export const GATE: TableShape = {
  of: 'fencing gate',
  whenEmptied: 'old tokens are admitted again',
  columns: [
    { name: 'resource', type: 'text COLLATE "C"' },
    { name: 'token', type: 'bigint' },
    { name: 'expires', type: 'bigint' },
  ],
};

/** Room for new versions of a row on its page: then an update touches no index, and needs no vacuum to be undone. */
const FILLFACTOR = 70;

/** The SQL that makes the tables of the locks and of the fencing gate, for a migration; running it twice does no harm. */
export function schema(name: Partial<TableName> = {}): string {
  const full = mergeOptions(DEFAULT_TABLE, name, PARSERS);
  const createSchema =
    full.schema === DEFAULT_TABLE.schema ? '' : `CREATE SCHEMA IF NOT EXISTS "${full.schema}";\n`;
  return createSchema + createTables(full);
}

export function createTables(name: TableName): string {
  return createTable(name, LOCKS) + createTable(gateOf(name), GATE);
}

function createTable(name: TableName, shape: TableShape): string {
  const columns = shape.columns.map(({ name: column, type, nullable }, index) => {
    const constraint = index === 0 ? ' PRIMARY KEY' : nullable ? '' : ' NOT NULL';
    return `  ${column} ${type}${constraint}`;
  });
  return (
    `CREATE TABLE IF NOT EXISTS ${quote(name)} (\n${columns.join(',\n')}\n` +
    `) WITH (fillfactor = ${FILLFACTOR});\n`
  );
}
