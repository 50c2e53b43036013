import type { Duration } from '../../interfaces/lock-options.interface.js';
import { badOption, badSecretOption } from '../../options/option-error.js';
import {
  duration,
  flag,
  mergeOptions,
  number,
  type OptionParser,
  type OptionParsers,
} from '../../options/option-parsers.js';
import { LockConfigError } from '../../errors/lock-config.error.js';
import { schemaName, tableName } from './identifiers.js';
import type { PgPool } from './pg-port.js';
import { DEFAULT_TABLE } from './schema.js';
import { SMALLEST_RETENTION } from './timeouts.js';

/** Options that do not depend on where the connections come from. */
export interface PostgresTableOptions {
  /**
   * The schema of the table.
   * @default 'public'
   */
  readonly schema?: string;
  /**
   * The table of the locks; that of the fencing gate is called like it and `_gate`.
   * @default 'distributed_lock'
   */
  readonly table?: string;
  /**
   * Create schema and tables where they are missing; false checks that they are there.
   * @default true
   */
  readonly createTable?: boolean;
  /**
   * How many connections of its own the driver opens at most: one for renewals and releases, one for notices, and the
   * others for acquiring.
   * @default 3
   */
  readonly poolSize?: number;
  /**
   * For how long a free lock is remembered, so that its fencing tokens go on counting; at least 10 s.
   * @default '60s'
   */
  readonly retention?: Duration;
  /**
   * Tell waiters of a release by LISTEN and NOTIFY; where that does not work they ask again and again, as with false.
   * @default true
   */
  readonly notify?: boolean;
  /**
   * Use named prepared statements and settings of the session; false for poolers that share sessions.
   * @default true
   */
  readonly prepare?: boolean;
}

/** Options of a `PostgresLockDriver`; one of `pool` and `connectionString` is required. */
export interface PostgresLockDriverOptions extends PostgresTableOptions {
  /** A `pg` Pool, whose options are used for connections of the driver's own. */
  readonly pool?: PgPool;
  /** Where to connect to if there is no pool. */
  readonly connectionString?: string;
}

/** The options after they were checked. */
export interface PostgresSettings {
  readonly pool: PgPool | undefined;
  readonly connectionString: string | undefined;
  readonly schema: string;
  readonly table: string;
  readonly createTable: boolean;
  readonly poolSize: number;
  readonly retention: number;
  readonly notify: boolean;
  readonly prepare: boolean;
}

const DEFAULTS: PostgresSettings = {
  pool: undefined,
  connectionString: undefined,
  ...DEFAULT_TABLE,
  createTable: true,
  poolSize: 3,
  retention: 60_000,
  notify: true,
  prepare: true,
};

const A_POOL = 'a Pool of the package pg';

const pool: OptionParser<PgPool | undefined> = (value, name) => {
  if (!isPool(value)) {
    throw badOption(name, value, A_POOL);
  }
  return value;
};

const connectionString: OptionParser<string | undefined> = (value, name) => {
  if (typeof value !== 'string' || value === '') {
    throw badSecretOption(name, value, 'a string such as postgres://user:password@host/database');
  }
  return value;
};

const PARSERS: OptionParsers<PostgresSettings> = {
  pool,
  connectionString,
  schema: schemaName,
  table: tableName,
  createTable: flag,
  poolSize: number('a whole number from 2 to 100', (n) => Number.isInteger(n) && n > 1 && n <= 100),
  retention: duration({
    min: SMALLEST_RETENTION,
    allowed: `a duration of at least ${SMALLEST_RETENTION / 1000} s: milliseconds, or a string such as '60s'`,
  }),
  notify: flag,
  prepare: flag,
};

/** Checks what a driver was made with: a pool, or options that say where to connect to. */
export function resolvePostgresOptions(given: unknown): PostgresSettings {
  const options = isClient(given) ? { pool: given } : given;
  const settings = mergeOptions(DEFAULTS, options, PARSERS);
  if ((settings.pool === undefined) === (settings.connectionString === undefined)) {
    throw new LockConfigError(
      `A PostgresLockDriver needs either \`pool\`, ${A_POOL}, or \`connectionString\``,
    );
  }
  if (settings.notify && settings.poolSize < 3) {
    throw badOption('poolSize', settings.poolSize, 'at least 3, or 2 with `notify: false`');
  }
  return settings;
}

function isPool(value: unknown): value is PgPool {
  return isClient(value) && 'options' in value;
}

/** Whether this is something that connects, and not options. */
function isClient(value: unknown): value is object {
  return typeof (value as Partial<PgPool> | null | undefined)?.connect === 'function';
}
