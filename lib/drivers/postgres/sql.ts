/** The server's time in whole microseconds at the moment it is evaluated; `now()` is that of the transaction's start. */
export const CLOCK = '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint';

/** One reading of the clock for all that refers to it. */
export const ONE_CLOCK = `(SELECT ${CLOCK} AS now) c`;
