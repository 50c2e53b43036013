import { LockDriverError } from '../../errors/lock-driver.error.js';
import type { AcquireRequest, Denial, Grant } from '../../interfaces/lock-driver.interface.js';
import type { Operation } from './batcher.js';
import { byKey } from './by-key.js';
import { checkLease } from './checks.js';
import type { Row } from './pg-port.js';
import { CLOCK, ONE_CLOCK } from './sql.js';
import type { Statement } from './statement.js';
import { SMALLEST_RETENTION } from './timeouts.js';
import { checkTokens, microseconds, milliseconds } from './units.js';

/** What became of a request, and whether the lock had no row before. */
export type Acquired = Grant & { readonly isNew: boolean };

/**
 * Decided under the row's lock, by one reading of the clock after that was waited for. `excluded` is what a new row
 * would be: `expires - last` is the ttl, `-n` the number of tokens asked for and `-wanted` for how long the lock is wanted.
 */
const DECIDE = `(owner, expires, last, n, wanted) = (
  SELECT
    CASE WHEN l.expires <= c.now THEN excluded.owner ELSE l.owner END,
    CASE WHEN l.expires <= c.now THEN c.now + excluded.expires - excluded.last
      WHEN l.owner = excluded.owner THEN greatest(l.expires, c.now + excluded.expires - excluded.last)
      ELSE l.expires END,
    CASE WHEN l.expires <= c.now THEN greatest(c.now, l.last + 1) ELSE l.last END,
    CASE WHEN l.expires <= c.now THEN least(-excluded.n, greatest(c.now, l.last + 1) - l.last)::integer
      WHEN l.owner = excluded.owner THEN 1
      ELSE l.n END,
    CASE WHEN l.expires <= c.now THEN 0
      WHEN l.owner = excluded.owner OR excluded.wanted = 0 THEN l.wanted
      ELSE greatest(l.wanted, c.now - excluded.wanted) END
  FROM ${ONE_CLOCK})`;

const ANSWER = `(expires - ${CLOCK})::text, last::text, n::text`;

/** A held lock that is marked as wanted for long enough needs no write, so it is denied by a plain read. */
const IS_BUSY = `h.expires > c.now AND h.owner IS DISTINCT FROM r.owner AND (r.want = 0 OR h.wanted >= c.now + r.want)`;

const insertInto = (table: string, source: string): string => `INSERT INTO ${table} AS l
  (key, owner, expires, last, n, wanted)
${source}
ON CONFLICT (key) DO UPDATE SET ${DECIDE}`;

/** For a lone request, which mostly finds its lock free: a plain read before it would cost as much as it does. */
const acquireOne = (table: string): string =>
  `${insertInto(
    table,
    `SELECT $1, $2, c.now + $3::bigint, c.now, -$4::integer, -$5::bigint FROM ${ONE_CLOCK}`,
  )}
RETURNING l.key, l.owner, ${ANSWER}`;

/** The ordered INSERT is all that locks rows: to lock those that are there first would deadlock with those that are not. */
const acquireMany = (table: string): string => `WITH r AS MATERIALIZED (
SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::integer[], $5::bigint[])
  AS r (key, owner, ttl, asked, want)
), busy AS MATERIALIZED (
SELECT h.key, h.owner, h.expires, h.last, h.n
FROM r CROSS JOIN ${ONE_CLOCK} JOIN ${table} h ON h.key = r.key COLLATE "C"
WHERE ${IS_BUSY}
), taken AS (
${insertInto(
  table,
  `SELECT r.key, r.owner, c.now + r.ttl, c.now, -r.asked, -r.want FROM r CROSS JOIN ${ONE_CLOCK}
WHERE NOT EXISTS (SELECT FROM busy WHERE busy.key = r.key COLLATE "C")
ORDER BY r.key COLLATE "C"`,
)}
RETURNING l.key, l.owner, l.expires, l.last, l.n)
SELECT key, owner, ${ANSWER} FROM (SELECT * FROM taken UNION ALL SELECT * FROM busy) answers`;

/** Half of the retention, by the shortest that any process of those who share the table may have. */
const LONGEST_GRANT = SMALLEST_RETENTION / 2;

/** So many keys that were denied are remembered. */
const MOST_DENIED = 10_000;

/** Takes locks that are free, expired or the owner's already. */
export class AcquireOperation implements Operation<AcquireRequest, Acquired | Denial> {
  readonly limit = 128;
  readonly #one: string;
  readonly #many: string;
  /** Keys that were busy when they were last asked for, and probably still are. */
  readonly #denied = new Set<string>();

  constructor(table: string) {
    this.#one = acquireOne(table);
    this.#many = acquireMany(table);
  }

  check(request: AcquireRequest): void {
    const { ttl, tokens = 1, wantFor = 0 } = request;
    checkLease(request);
    checkTokens(tokens);
    microseconds(ttl);
    microseconds(wantFor);
  }

  statement(requests: readonly AcquireRequest[]): Statement {
    const values = requests.map(({ key, owner, ttl, tokens = 1, wantFor = 0 }) => [
      key,
      owner,
      microseconds(ttl),
      tokens,
      microseconds(wantFor),
    ]);
    return requests.length === 1 && !this.#denied.has(requests[0]?.key ?? '')
      ? { name: 'lock-acquire', text: this.#one, values: values[0] as unknown[] }
      : { name: 'lock-acquire-many', text: this.#many, values: transpose(values) };
  }

  answers(
    requests: readonly AcquireRequest[],
    rows: readonly Row[],
    ms: number,
  ): (Acquired | Denial | Error)[] {
    const found = byKey(rows);
    return requests.map((request) => {
      const answer = answerTo(request, found.get(request.key));
      this.#remember(request.key, answer);
      // Its token may be from a clock that was read long ago.
      return ms > LONGEST_GRANT && 'firstToken' in answer ? tooLate(request.key) : answer;
    });
  }

  /** The lock was busy, but has been released since. */
  expectFree(key: string): void {
    this.#denied.delete(key);
  }

  #remember(key: string, answer: Acquired | Denial | Error): void {
    if ('firstToken' in answer) {
      this.#denied.delete(key);
    } else if (this.#denied.size < MOST_DENIED) {
      this.#denied.add(key);
    }
  }
}

function transpose(rows: readonly (readonly unknown[])[]): unknown[][] {
  return (rows[0] ?? []).map((_, column) => rows.map((row) => row[column]));
}

function answerTo(request: AcquireRequest, row: Row | undefined): Acquired | Denial | Error {
  if (row === undefined) {
    return new LockDriverError('The server did not answer for this key', { keys: [request.key] });
  }
  const [, owner, remaining, last, n] = row;
  if (owner !== request.owner) {
    const retryAfter = milliseconds(remaining);
    return owner == null ? { retryAfter } : { retryAfter, owner };
  }
  const tokens = Math.max(1, Number(n));
  return { firstToken: Number(last) - tokens + 1, tokens, isNew: Number(n) < 1 };
}

function tooLate(key: string): LockDriverError {
  return new LockDriverError('The answer came too late to rely on the fencing token in it', {
    keys: [key],
  });
}
