import type { AdmitRequest } from '../../interfaces/lock-driver.interface.js';
import type { MongoDocument } from './mongo-port.js';
import { field, inMs, LONG_AGO, NONE, NOW, NOW_US } from './mongo-statements.js';

/**
 * Admits a token, which is the document's afterwards, or refuses it. Every admission changes the document, that of a
 * token that was there before too: so two transactions cannot pass each other unseen.
 *
 * An upsert must leave something. Where nothing was remembered and the token is refused, that is a document without a
 * token, which tells the rule and may go at once.
 */
export function admitPipeline(
  { token, retention }: AdmitRequest,
  mayBeAhead: number,
  kept: number,
): MongoDocument[] {
  // As a double it is exact, and stored it is a 64-bit integer.
  const given = { $toLong: token };
  const latest = { $add: [NOW_US, mayBeAhead * 1000] };
  const oldest = { $subtract: [NOW_US, retention * 1000] };
  const rule = choose(
    '',
    [{ $lte: [given, '$try.newest'] }, choose('older', [{ $eq: [given, '$try.newest'] }, ''])],
    [{ $gt: [given, latest] }, 'ahead'],
    [{ $gt: ['$try.newest', 0] }, ''],
    [{ $gt: [oldest, given] }, 'forgotten'],
  );
  return [
    { $set: { 'try.newest': field('token', 0) } },
    { $set: { 'try.rule': rule } },
    {
      $set: {
        token: ifAdmitted(given, field('token', NONE)),
        writes: ifAdmitted({ $add: [field('writes', 0), 1] }, field('writes', NONE)),
        refused: choose(NONE, [{ $eq: ['$try.newest', 0] }, ifAdmitted(NONE, '$try.rule')]),
        purgeAt: ifAdmitted(
          { $max: [field('purgeAt', LONG_AGO), inMs(retention + mayBeAhead + kept)] },
          field('purgeAt', NOW),
        ),
      },
    },
    { $unset: 'try' },
  ];
}

const ifAdmitted = (value: unknown, otherwise: unknown): MongoDocument => ({
  $cond: [{ $eq: ['$try.rule', ''] }, value, otherwise],
});

type Case = readonly [when: unknown, then: unknown];

/** The value of the first case that holds, or else the other one. */
function choose(otherwise: unknown, ...cases: readonly Case[]): unknown {
  return cases.reduceRight<unknown>(
    (rest, [when, then]) => ({ $cond: [when, then, rest] }),
    otherwise,
  );
}
