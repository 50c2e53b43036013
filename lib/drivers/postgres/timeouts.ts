/** After so many milliseconds the server gives a statement up. */
export const STATEMENT_TIMEOUT = 5000;

/** So long a statement waits for one row: others keep a row for one statement only, unless somebody locked it by hand. */
export const LOCK_TIMEOUT = 2000;

/** By so much the answer may come later than the server's own limit, before the connection counts as dead. */
export const ANSWER_SLACK = 1000;

/** How long connecting may take where the user's options do not say it. */
export const CONNECT_TIMEOUT = 5000;

/**
 * Twice the longest statement. A new row gets its token from a clock that was read before the statement waited: within
 * the retention nobody may have forgotten a larger one.
 */
export const SMALLEST_RETENTION = 2 * STATEMENT_TIMEOUT;
