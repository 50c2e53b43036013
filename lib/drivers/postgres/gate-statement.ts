import type {
  Admission,
  AdmitRequest,
  AdmitStatement,
} from '../../interfaces/lock-driver.interface.js';
import { LockConfigError } from '../../errors/lock-config.error.js';
import { MAY_BE_AHEAD } from '../fencing-rules.js';
import { checkKey } from './checks.js';
import { CLOCK } from './sql.js';
import { microseconds } from './units.js';

/**
 * So much longer than it must be is a row kept, in milliseconds: a statement may have read the clock, and then have
 * waited for so long for somebody else's transaction.
 */
const LONGEST_WAIT = 3_600_000;

const AHEAD = microseconds(MAY_BE_AHEAD);
const KEPT = AHEAD + microseconds(LONGEST_WAIT);

const NEWER = `token = greatest(g.token, excluded.token),
    expires = CASE WHEN g.token <= excluded.token THEN greatest(g.expires, excluded.expires) ELSE g.expires END`;

/**
 * Every admission writes the row, and so waits for whoever has written it in a transaction that is open. A token from
 * before the memory only ever updates: had the row been seen and then been purged, an insert would admit it.
 *
 * Each parameter stands once, in order and as text, for clients that count them or have types of their own.
 */
const admit = (table: string): string => `WITH r AS MATERIALIZED (
SELECT resource, token, now + ${AHEAD} AS latest, now - retention AS oldest, now + retention + ${KEPT} AS expires
FROM (SELECT $1::text COLLATE "C" AS resource, $2::text::bigint AS token, $3::text::bigint AS retention, ${CLOCK} AS now) q
), young AS (
INSERT INTO ${table} AS g (resource, token, expires)
SELECT resource, token, expires FROM r WHERE token BETWEEN oldest AND latest
ON CONFLICT (resource) DO UPDATE SET ${NEWER}
RETURNING g.token
), old AS (
UPDATE ${table} g SET ${NEWER.replaceAll('excluded.', 'r.')}
FROM r WHERE g.resource = r.resource AND r.token < r.oldest
RETURNING g.token
)
SELECT
  CASE WHEN r.token > r.latest THEN 'ahead' WHEN a.token IS NULL THEN 'forgotten'
    WHEN a.token > r.token THEN 'older' ELSE 'admitted' END AS rule,
  CASE WHEN r.token > r.latest THEN g.token ELSE a.token END::text AS newest,
  (a.token IS NOT NULL AND g.token IS NULL)::text AS added
FROM r
LEFT JOIN (SELECT token FROM young UNION ALL SELECT token FROM old) a ON true
LEFT JOIN ${table} g ON g.resource = r.resource`;

const RULES = ['admitted', 'ahead', 'older', 'forgotten'] as const;

/** The one row of the answer. */
interface Answer {
  readonly rule: (typeof RULES)[number];
  readonly newest: string | null;
  readonly added: string;
}

/** Makes the statement by which a token is admitted to a resource. */
export class GateStatement {
  readonly #text: string;
  readonly #onAdded: () => void;

  /** @param onAdded is called for every resource that had no row */
  constructor(table: string, onAdded: () => void) {
    this.#text = admit(table);
    this.#onAdded = onAdded;
  }

  of({ resource, token, retention }: AdmitRequest): AdmitStatement {
    checkKey(resource);
    return {
      text: this.#text,
      values: [resource, String(token), String(microseconds(retention))],
      admission: (rows) => this.#read(rows),
    };
  }

  #read(rows: readonly object[]): Admission {
    const { rule, newest, added } = answerIn(rows);
    if (added === 'true') {
      this.#onAdded();
    }
    if (rule === 'admitted') {
      return { admitted: true };
    }
    return { admitted: false, rule, ...(newest !== null && { newest: Number(newest) }) };
  }
}

function answerIn(rows: readonly object[]): Answer {
  // What other clients give is not checked by the compiler.
  const [answer] = (Array.isArray(rows) ? rows : []) as (Partial<Answer> | null | undefined)[];
  if (answer?.rule === undefined || !RULES.includes(answer.rule)) {
    throw new LockConfigError(
      'The statement of the fencing gate gives one row with the column `rule`, and these are not its rows: give the rows ' +
        'as objects, with the names that the statement gives its columns',
    );
  }
  return answer as Answer;
}
