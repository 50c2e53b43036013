import { badOption } from '../../options/option-error.js';
import type { OptionParser } from '../../options/option-parsers.js';

/** PostgreSQL cuts what is longer, and then another table may be meant. */
const LONGEST = 63;
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_$]*$/;

const identifierOf =
  (longest: number, why: string): OptionParser<string> =>
  (value, name) => {
    if (typeof value !== 'string' || value.length > longest || !IDENTIFIER.test(value)) {
      throw badOption(
        name,
        value,
        `a name of letters, digits, _ and $ that does not begin with a digit, at most ${longest} characters long${why}`,
      );
    }
    return value;
  };

/** What the name of the gate's table ends in, after that of the locks'. */
const GATE = '_gate';

/** Parses the name of a schema. */
export const schemaName = identifierOf(LONGEST, '');

/** Parses the name of the table of the locks. */
export const tableName = identifierOf(
  LONGEST - GATE.length,
  `, for the table of the fencing gate is called like it and \`${GATE}\``,
);

/** Where the locks are kept. */
export interface TableName {
  readonly schema: string;
  readonly table: string;
}

/** Where the tokens that the fencing gate has seen are kept. */
export function gateOf({ schema, table }: TableName): TableName {
  return { schema, table: table + GATE };
}

/** The name as it stands in a statement; its parts were checked by {@link schemaName} and {@link tableName}. */
export function quote({ schema, table }: TableName): string {
  return `"${schema}"."${table}"`;
}
