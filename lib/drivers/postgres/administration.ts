import type { ListRequest, LockRecord } from '../../interfaces/lock-driver.interface.js';
import { MAX_KEY_BYTES } from './checks.js';
import type { Row } from './pg-port.js';
import { causeCodeOf, TOO_MANY_NOTICES } from './postgres-error.js';
import { freed, TELL_NOBODY, tellIfWanted } from './release.operation.js';
import { CLOCK, ONE_CLOCK } from './sql.js';
import type { Statement } from './statement.js';
import { milliseconds } from './units.js';

/** In the order of the table no key of at most {@link MAX_KEY_BYTES} comes after it, and every character has at most four bytes. */
const AFTER_ALL = '\u{10FFFF}'.repeat(MAX_KEY_BYTES / 4);

const RECORD = `l.key, l.owner, l.last::text, (l.expires - c.now)::text`;

/** Statements for those who look after locks. */
export class Administration {
  readonly #table: string;
  readonly #channel: string;

  constructor(table: string, channel: string) {
    this.#table = table;
    this.#channel = channel;
  }

  inspect(key: string): Statement {
    const text = `SELECT ${RECORD} FROM ${this.#table} l CROSS JOIN ${ONE_CLOCK} WHERE l.key = $1 AND l.expires > c.now`;
    return { name: 'lock-inspect', text, values: [key] };
  }

  /** Between two ends that the index finds, and compared character by character, for none of them is a wild card. */
  list({ prefix = '', limit = 100 }: ListRequest): Statement {
    const text = `SELECT ${RECORD} FROM ${this.#table} l CROSS JOIN ${ONE_CLOCK}
WHERE l.key >= $1 AND l.key <= $2 AND l.expires > c.now ORDER BY l.key LIMIT $3::bigint`;
    const values = [prefix, prefix + AFTER_ALL, Math.min(limit, Number.MAX_SAFE_INTEGER)];
    return { name: 'lock-list', text, values };
  }

  forceRelease(key: string): Statement {
    return this.#forceRelease('lock-force-release', key, tellIfWanted(this.#channel));
  }

  /** What to do after that has failed: where notices cannot be sent, without them. */
  insist(key: string, error: unknown): Statement {
    if (causeCodeOf(error) !== TOO_MANY_NOTICES) {
      throw error;
    }
    return this.#forceRelease('lock-force-release-quietly', key, TELL_NOBODY);
  }

  #forceRelease(name: string, key: string, tell: string): Statement {
    const text = `WITH held AS MATERIALIZED (
SELECT l.key, l.expires FROM ${this.#table} l WHERE l.key = $1 FOR UPDATE)
UPDATE ${this.#table} l SET ${freed('0')} FROM held WHERE l.key = held.key
RETURNING (held.expires > ${CLOCK})::text, ${tell}`;
    return { name, text, values: [key] };
  }
}

export function recordOf([key, owner, last, remaining]: Row): LockRecord {
  return {
    key: key ?? '',
    owner: owner ?? '',
    fencingToken: last ?? '',
    remaining: milliseconds(remaining),
  };
}
