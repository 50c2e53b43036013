import { LockDriverError } from '../../errors/lock-driver.error.js';
import { LockError } from '../../errors/lock.error.js';

const LOCKED_ROW = 'Somebody holds the row of the lock in a transaction that does not end';

const POOLER = 'Is there a pooler in between (PgBouncer, RDS Proxy)? Then set `prepare: false`';

/** What to do about an error, by its SQLSTATE. */
const HINTS: Readonly<Record<string, string>> = {
  '08P01': POOLER,
  '25006': 'Locks need a server that takes writes: connect to the primary, not to a standby',
  '26000': POOLER,
  '42501':
    'The role needs USAGE on the schema and SELECT, INSERT, UPDATE and DELETE on the table of the locks',
  '42P01': 'The table of the locks is gone: start again, or run the SQL that `schema()` gives',
  '42P05': POOLER,
  '53100': 'The disk of the server is full',
  '53300': 'Raise max_connections of the server, or lower `poolSize`',
  '54000':
    'A session that listens is in a transaction that does not end, so no more notices fit in',
  '55P03': LOCKED_ROW,
  '57014': 'The server took too long, or somebody cancelled the statement',
};

/** The SQLSTATE of an error of the server. */
export function codeOf(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === 'string' ? code : undefined;
}

/** Whether the server has answered with this error, and not the connection failed. */
function isOfServer(error: unknown): boolean {
  return typeof (error as { readonly severity?: unknown } | undefined)?.severity === 'string';
}

/** The error with what to do about it; what is an error of this package already stays as it is. */
export function driverError(cause: unknown, keys: readonly string[] = []): LockError {
  if (cause instanceof LockError) {
    return cause;
  }
  const code = codeOf(cause);
  // Where a host has several addresses, the error that sums up what became of each has no message.
  const message =
    (cause instanceof Error ? cause.message : String(cause)) || (code ?? 'no reason told');
  const hint = HINTS[code ?? ''];
  return new LockDriverError(hint === undefined ? message : `${message}. ${hint}`, { keys, cause });
}

/** What a statement answers that does not wait for rows. */
export function lockedBySomebody(key: string): LockDriverError {
  return new LockDriverError(LOCKED_ROW, { keys: [key] });
}

/** The SQLSTATE of what this error of the package was caused by. */
export function causeCodeOf(error: unknown): string | undefined {
  return codeOf((error as LockError | undefined)?.cause);
}

/** The queue of notices is full: some session that listens is in a transaction that does not end. */
export const TOO_MANY_NOTICES = '54000';

/** Whether one request of a batch may be to blame for its failure: then it is worth another try. */
export function mayBeOfOneRow(error: unknown): boolean {
  const code = causeCodeOf(error);
  return code?.startsWith('22') || code === TOO_MANY_NOTICES || code === '55P03';
}

/**
 * Whether the connection is of no use any more: it failed itself, or the server ends it (classes 08 and 57P, 25P03 and
 * 25P04), or it takes no writes any more. After a failover another server does, and a new connection may lead there.
 */
export function isEndOfConnection(error: unknown): boolean {
  return !isOfServer(error) || /^(08|57P|25P0[34]|25006)/.test(codeOf(error) ?? '');
}
