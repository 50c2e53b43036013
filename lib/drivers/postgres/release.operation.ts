import type { ReleaseRequest, ReleaseResult } from '../../interfaces/lock-driver.interface.js';
import type { Operation } from './batcher.js';
import { byKey } from './by-key.js';
import { checkLease } from './checks.js';
import type { Row } from './pg-port.js';
import { lockedBySomebody, TOO_MANY_NOTICES } from './postgres-error.js';
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

/** Who waits asks again anyway. */
export const TELL_NOBODY = 'NULL';

/**
 * A release that is lost with a crashed server is only late, so this transaction alone need not wait for the disk; the
 * setting ends with it.
 */
const answer = (tell: string): string => `RETURNING l.key, (l.wanted - ${CLOCK})::text AS wanted,
${tell}, set_config('synchronous_commit', 'off', true)`;

const releaseOne = (
  table: string,
  tell: string,
): string => `UPDATE ${table} l SET ${freed('$3::bigint')}
WHERE l.key = $1 AND l.owner = $2
${answer(tell)}`;

/** Takes the rows in one order, so that no two statements wait for each other. */
const lockMine = (table: string, patience: string): string => `WITH r AS MATERIALIZED (
SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[]) AS r (key, owner, retain)
), mine AS MATERIALIZED (
SELECT l.key, l.owner, r.retain
FROM r JOIN ${table} l ON l.key = r.key COLLATE "C" AND l.owner = r.owner
ORDER BY l.key COLLATE "C"
FOR UPDATE OF l ${patience})`;

const free = (table: string, tell: string): string => `UPDATE ${table} l SET ${freed('mine.retain')}
FROM mine WHERE l.key = mine.key AND l.owner = mine.owner
${answer(tell)}`;

const releaseMany = (table: string, tell: string): string =>
  `${lockMine(table, '')}\n${free(table, tell)}`;

/** A row that was the owner's and is left alone here is locked by somebody else: it is not released. */
const releaseUnlocked = (
  table: string,
  tell: string,
): string => `${lockMine(table, 'SKIP LOCKED')}, freed AS (
${free(table, tell)})
SELECT r.key, freed.wanted FROM r
JOIN ${table} l ON l.key = r.key COLLATE "C" AND l.owner = r.owner
LEFT JOIN freed ON freed.key = l.key`;

/** Gives locks back, and tells of it where somebody wants them. */
export class ReleaseOperation implements Operation<ReleaseRequest, ReleaseResult> {
  readonly limit = 128;
  readonly #one: string;
  readonly #many: string;
  readonly #unlocked: string;
  readonly #quietly: string;

  constructor(table: string, channel: string) {
    const tell = tellIfWanted(channel);
    this.#one = releaseOne(table, tell);
    this.#many = releaseMany(table, tell);
    this.#unlocked = releaseUnlocked(table, tell);
    this.#quietly = releaseMany(table, TELL_NOBODY);
  }

  check(request: ReleaseRequest): void {
    checkLease(request);
    microseconds(request.retainFor ?? 0);
  }

  statement(requests: readonly ReleaseRequest[]): Statement {
    return requests.length === 1
      ? { name: 'lock-release', text: this.#one, values: valuesOf(requests).flat() }
      : { name: 'lock-release-many', text: this.#many, values: valuesOf(requests) };
  }

  /** One lock whose row somebody locks must not hold up all others, nor may notices that cannot be sent. */
  secondTry(requests: readonly ReleaseRequest[], code: string | undefined): Statement | undefined {
    if (code === TOO_MANY_NOTICES) {
      return { name: 'lock-release-quietly', text: this.#quietly, values: valuesOf(requests) };
    }
    return requests.length === 1
      ? undefined
      : { name: 'lock-release-now', text: this.#unlocked, values: valuesOf(requests) };
  }

  answers(requests: readonly ReleaseRequest[], rows: readonly Row[]): (ReleaseResult | Error)[] {
    const found = byKey(rows);
    return requests.map((request) => answerTo(request, found.get(request.key)));
  }
}

function valuesOf(requests: readonly ReleaseRequest[]): unknown[][] {
  return [
    requests.map(({ key }) => key),
    requests.map(({ owner }) => owner),
    requests.map(({ retainFor = 0 }) => microseconds(retainFor)),
  ];
}

function answerTo({ key }: ReleaseRequest, row: Row | undefined): ReleaseResult | Error {
  if (row === undefined) {
    return NOT_RELEASED;
  }
  const [, wanted] = row;
  if (wanted == null) {
    return lockedBySomebody(key);
  }
  const wantedFor = milliseconds(wanted);
  return wantedFor > 0 ? { released: true, wantedFor } : RELEASED;
}
