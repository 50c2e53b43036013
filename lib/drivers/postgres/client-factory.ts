import { LockConfigError } from '../../errors/lock-config.error.js';
import type { PgClient, PgClientClass, PgPool } from './pg-port.js';
import type { PostgresSettings } from './postgres-options.js';
import { CONNECT_TIMEOUT, LOCK_TIMEOUT, STATEMENT_TIMEOUT } from './timeouts.js';

/** Makes clients that are not connected yet. */
export type ClientFactory = () => Promise<PgClient>;

/** Our connections in pg_stat_activity. */
export const APPLICATION_NAME = 'nestjs-distributed-lock';

/** A connection whose other end is gone without a word is found out after so long. */
const KEEP_ALIVE_AFTER = 10_000;

/**
 * Of the whole session, so that a lone statement needs no transaction around it. A plan that reads the whole table may
 * be right while the table is new, but it is kept while the table grows.
 */
const SESSION = [
  `statement_timeout=${STATEMENT_TIMEOUT}`,
  `lock_timeout=${LOCK_TIMEOUT}`,
  `idle_in_transaction_session_timeout=${STATEMENT_TIMEOUT}`,
  'default_transaction_isolation=read\\ committed',
  'enable_seqscan=off',
]
  .map((setting) => `-c ${setting}`)
  .join(' ');

const asText = (value: unknown): string => String(value);

/** Of the user's settings for connections we keep where to connect to and as whom; these are ours. */
const OURS = {
  keepAlive: true,
  keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER,
  binary: false,
  types: { getTypeParser: () => asText },
  Promise: undefined,
};

/** Taken from the pool's options or the connection string; nothing is loaded or opened before the first call. */
export function clientFactory(settings: PostgresSettings): ClientFactory {
  const { pool, connectionString, prepare } = settings;
  return async () => {
    const Client = pool ? clientOf(pool) : await loadClient();
    const options = pool ? optionsOf(pool) : { connectionString };
    const client = new Client(configure(options, prepare));
    limit(client, prepare);
    return client;
  };
}

function clientOf(pool: PgPool): PgClientClass {
  const { Client } = pool as { readonly Client?: PgClientClass };
  if (typeof Client !== 'function') {
    throw new LockConfigError(
      'The pool does not tell the class of its clients, so it is no Pool of the package pg. Give ' +
        '`connectionString` instead',
    );
  }
  return Client;
}

/** `pg` hides the password from copies. */
function optionsOf({ options }: PgPool): object {
  const { password } = options as { readonly password?: unknown };
  const copy = { ...options };
  return password === undefined
    ? copy
    : Object.defineProperty(copy, 'password', { value: password, writable: true });
}

async function loadClient(): Promise<PgClientClass> {
  try {
    const { default: pg } = await import('pg');
    return pg.Client as PgClientClass;
  } catch (cause) {
    throw new LockConfigError('The package pg is not there: npm install pg', { cause });
  }
}

function configure(options: object, prepare: boolean): object {
  const { connectionTimeoutMillis } = options as { readonly connectionTimeoutMillis?: number };
  return Object.assign(options, OURS, {
    pipeline: !prepare,
    connectionTimeoutMillis: connectionTimeoutMillis || CONNECT_TIMEOUT,
  });
}

/** After the client has read everything: what stands in a connection string or the environment would win otherwise. */
function limit({ connectionParameters }: PgClient, prepare: boolean): void {
  if (connectionParameters === undefined) {
    return;
  }
  const { options } = connectionParameters as { readonly options?: string };
  Object.assign(connectionParameters, {
    application_name: APPLICATION_NAME,
    statement_timeout: false,
    lock_timeout: false,
    idle_in_transaction_session_timeout: false,
    query_timeout: false,
    options: prepare ? [options, SESSION].filter(Boolean).join(' ') : options,
  });
}
