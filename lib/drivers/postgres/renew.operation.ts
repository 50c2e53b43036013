import type { RenewRequest, RenewResult } from '../../interfaces/lock-driver.interface.js';
import type { Operation } from './batcher.js';
import { byKey } from './by-key.js';
import { checkLease } from './checks.js';
import type { Row } from './pg-port.js';
import { lockedBySomebody } from './postgres-error.js';
import { ONE_CLOCK } from './sql.js';
import type { Statement } from './statement.js';
import { checkTokens, microseconds } from './units.js';

const NOT_RENEWED: RenewResult = Object.freeze({ renewed: false });
const RENEWED: RenewResult = Object.freeze({ renewed: true });

/** Takes the rows in one order, so that no two statements wait for each other. */
const lockMine = (table: string, patience: string): string => `WITH r AS MATERIALIZED (
SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::boolean[], $5::integer[])
  AS r (key, owner, ttl, shorten, bump)
), mine AS MATERIALIZED (
SELECT l.key, l.owner, r.ttl, r.shorten, r.bump
FROM r JOIN ${table} l ON l.key = r.key COLLATE "C" AND l.owner = r.owner
ORDER BY l.key COLLATE "C"
FOR UPDATE OF l ${patience})`;

/** Whose the lock is decides, and not whether it has expired: until somebody takes it, it is its owner's. */
const update = (table: string): string => `UPDATE ${table} l SET (expires, last, n) = (
  SELECT
    CASE WHEN mine.shorten THEN c.now + mine.ttl ELSE greatest(l.expires, c.now + mine.ttl) END,
    CASE WHEN mine.bump > 0 THEN greatest(c.now, l.last + 1) ELSE l.last END,
    CASE WHEN mine.bump > 0 THEN least(mine.bump, greatest(c.now, l.last + 1) - l.last)::integer ELSE l.n END
  FROM ${ONE_CLOCK})
FROM mine WHERE l.key = mine.key AND l.owner = mine.owner
RETURNING l.key, l.last::text, l.n::text`;

/** A row that was the owner's and is left alone here is locked by somebody else: what will become of it is unknown. */
const renewUnlocked = (table: string): string => `${lockMine(table, 'SKIP LOCKED')}, renewed AS (
${update(table)})
SELECT r.key, renewed.last, renewed.n FROM r
JOIN ${table} l ON l.key = r.key COLLATE "C" AND l.owner = r.owner
LEFT JOIN renewed ON renewed.key = l.key`;

/** Renews any number of leases. */
export class RenewOperation implements Operation<RenewRequest, RenewResult> {
  readonly limit = 1000;
  readonly #patient: string;
  readonly #impatient: string;

  constructor(table: string) {
    this.#patient = `${lockMine(table, '')}\n${update(table)}`;
    this.#impatient = renewUnlocked(table);
  }

  check(request: RenewRequest): void {
    checkLease(request);
    checkTokens(request.bumpToken ?? 0);
    microseconds(request.ttl);
  }

  statement(requests: readonly RenewRequest[]): Statement {
    return { name: 'lock-renew', text: this.#patient, values: valuesOf(requests) };
  }

  /** One lease whose row somebody locks must not cost all others theirs. */
  secondTry(requests: readonly RenewRequest[]): Statement | undefined {
    return requests.length === 1
      ? undefined
      : { name: 'lock-renew-now', text: this.#impatient, values: valuesOf(requests) };
  }

  answers(requests: readonly RenewRequest[], rows: readonly Row[]): (RenewResult | Error)[] {
    const found = byKey(rows);
    return requests.map((request) => answerTo(request, found.get(request.key)));
  }
}

function valuesOf(requests: readonly RenewRequest[]): unknown[][] {
  return [
    requests.map(({ key }) => key),
    requests.map(({ owner }) => owner),
    requests.map(({ ttl }) => microseconds(ttl)),
    requests.map(({ shorten = false }) => shorten),
    requests.map(({ bumpToken = 0 }) => bumpToken),
  ];
}

function answerTo({ key, bumpToken }: RenewRequest, row: Row | undefined): RenewResult | Error {
  if (row === undefined) {
    return NOT_RENEWED;
  }
  const [, last, n] = row;
  if (last == null) {
    return lockedBySomebody(key);
  }
  if (!bumpToken) {
    return RENEWED;
  }
  const tokens = Number(n);
  return { renewed: true, firstToken: Number(last) - tokens + 1, tokens };
}
