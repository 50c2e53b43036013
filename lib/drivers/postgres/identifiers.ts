import { badOption } from '../../options/option-error.js';
import type { OptionParser } from '../../options/option-parsers.js';

/** PostgreSQL cuts what is longer, and then another table may be meant. */
const LONGEST = 63;
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_$]*$/;

/** Parses the name of a schema or a table. */
export const identifier: OptionParser<string> = (value, name) => {
  if (typeof value !== 'string' || value.length > LONGEST || !IDENTIFIER.test(value)) {
    throw badOption(
      name,
      value,
      `a name of letters, digits, _ and $ that does not begin with a digit, at most ${LONGEST} characters long`,
    );
  }
  return value;
};

/** Where the locks are kept. */
export interface TableName {
  readonly schema: string;
  readonly table: string;
}

/** The name as it stands in a statement; its parts were checked by {@link identifier}. */
export function quote({ schema, table }: TableName): string {
  return `"${schema}"."${table}"`;
}
