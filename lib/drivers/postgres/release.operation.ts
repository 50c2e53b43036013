import type { ReleaseRequest, ReleaseResult } from '../../interfaces/lock-driver.interface.js';
import type { Operation } from './batcher.js';
import { byKey } from './by-key.js';
import { checkLease } from './checks.js';
import type { Row } from './pg-port.js';
import { CLOCK } from './sql.js';
import type { Statement } from './statement.js';
import { microseconds, milliseconds } from './units.js';

const RELEASED: ReleaseResult = Object.freeze({ released: true });
const NOT_RELEASED: ReleaseResult = Object.freeze({ released: false });

/** What the lock becomes: free, or taken by nobody for so long. */
export const freed = (retain: string): string =>
  `owner = NULL, expires = CASE WHEN ${retain} > 0 THEN ${CLOCK} + ${retain} ELSE -${CLOCK} END`;

/** NOTIFY makes commits wait for one another, so it is only done where somebody wants the lock. */
export const tellIfWanted = (channel: string): string =>
  `CASE WHEN l.wanted > ${CLOCK} THEN pg_notify('${channel}', 'k' || l.key)::text END`;

/**
 * A release that is lost with a crashed server is only late, so this transaction alone need not wait for the disk; the
 * setting ends with it.
 */
const answer = (channel: string): string => `RETURNING l.key, (l.wanted - ${CLOCK})::text,
${tellIfWanted(channel)}, set_config('synchronous_commit', 'off', true)`;

const releaseOne = (
  table: string,
  channel: string,
): string => `UPDATE ${table} l SET ${freed('$3::bigint')}
WHERE l.key = $1 AND l.owner = $2
${answer(channel)}`;

const releaseMany = (table: string, channel: string): string => `WITH mine AS MATERIALIZED (
SELECT l.key, l.owner, r.retain
FROM unnest($1::text[], $2::text[], $3::bigint[]) AS r (key, owner, retain)
JOIN ${table} l ON l.key = r.key COLLATE "C" AND l.owner = r.owner
ORDER BY l.key COLLATE "C"
FOR UPDATE OF l)
UPDATE ${table} l SET ${freed('mine.retain')}
FROM mine WHERE l.key = mine.key AND l.owner = mine.owner
${answer(channel)}`;

/** Gives locks back, and tells of it where somebody wants them. */
export class ReleaseOperation implements Operation<ReleaseRequest, ReleaseResult> {
  readonly limit = 128;
  readonly #one: string;
  readonly #many: string;

  constructor(table: string, channel: string) {
    this.#one = releaseOne(table, channel);
    this.#many = releaseMany(table, channel);
  }

  check(request: ReleaseRequest): void {
    checkLease(request);
    microseconds(request.retainFor ?? 0);
  }

  statement(requests: readonly ReleaseRequest[]): Statement {
    const keys = requests.map(({ key }) => key);
    const owners = requests.map(({ owner }) => owner);
    const spans = requests.map(({ retainFor = 0 }) => microseconds(retainFor));
    return requests.length === 1
      ? { name: 'lock-release', text: this.#one, values: [keys[0], owners[0], spans[0]] }
      : { name: 'lock-release-many', text: this.#many, values: [keys, owners, spans] };
  }

  answers(requests: readonly ReleaseRequest[], rows: readonly Row[]): ReleaseResult[] {
    const found = byKey(rows);
    return requests.map(({ key }) => answerTo(found.get(key)));
  }
}

function answerTo(row: Row | undefined): ReleaseResult {
  if (row === undefined) {
    return NOT_RELEASED;
  }
  const wantedFor = milliseconds(row[1]);
  return wantedFor > 0 ? { released: true, wantedFor } : RELEASED;
}
