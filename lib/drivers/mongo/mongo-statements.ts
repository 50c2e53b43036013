import type {
  AcquireRequest,
  ReleaseRequest,
  RenewRequest,
} from '../../interfaces/lock-driver.interface.js';
import type { MongoDocument } from './mongo-port.js';

type Pipeline = MongoDocument[];

/** The server's time, the same for all of one command. */
export const NOW = '$$NOW';

/**
 * Tokens are microseconds, and the server's time has milliseconds. Grants of one key within a millisecond see the same
 * time: the first of them ends at it, every further one is a block of one, the token before plus 1. So tokens strictly
 * increase, and run ahead of the clock by 1 us per further grant until the next millisecond, which is 1,000 tokens on.
 * They could stay ahead only if one document were written more than a thousand times in every millisecond.
 */
export const NOW_US = { $multiply: [{ $toLong: NOW }, 1000] };

/** When a lock that is free has expired: so a clock that is set back cannot make it taken again. */
export const LONG_AGO = new Date(0);

export const NONE = { $literal: null };

/** In whole milliseconds. More than fit into 32 bits are sent as a double, which is exact for all durations. */
export const inMs = (ms: number): MongoDocument => ({ $add: [NOW, Math.ceil(ms)] });

/** Servers and stand-ins differ on comparing a field that is missing, so none is ever looked at bare. */
export const field = (name: string, otherwise: unknown): MongoDocument => ({
  $ifNull: [`$${name}`, otherwise],
});

const EXPIRY = field('expiry', LONG_AGO);
const WANTED = field('wanted', LONG_AGO);

/** What a try comes to; it stands in the document while the stages of its pipeline run. */
const judge = (owner: string): MongoDocument => ({
  'try.free': { $lte: [EXPIRY, NOW] },
  'try.mine': { $eq: [field('owner', NONE), { $literal: owner }] },
});

/** What becomes of a field if the lock was free, if it was the asker's already, and if it is somebody else's. */
interface Outcomes {
  readonly granted: unknown;
  readonly again?: unknown;
  readonly denied?: unknown;
}

/** Where nothing is said the field stays as it is. */
function outcome(name: string, { granted, again, denied }: Outcomes): MongoDocument {
  const same = field(name, NONE);
  const taken =
    again === undefined && denied === undefined
      ? same
      : { $cond: ['$try.mine', again ?? same, denied ?? same] };
  return { $cond: ['$try.free', granted, taken] };
}

/** The last token so far, and the one at which the next block ends. A new lock's predecessor gives it the one token `now`. */
const TOKENS: Pipeline = [
  { $set: { 'try.last': field('last', { $subtract: [NOW_US, 1] }) } },
  { $set: { 'try.end': { $max: [NOW_US, { $add: ['$try.last', 1] }] } } },
];

const blockSize = (asked: number): MongoDocument => ({
  $min: [asked, { $subtract: ['$try.end', '$try.last'] }],
});

/** While the clock has not passed the lease and the last token by the retention, a new record could grant that token again. */
const purgeAt = (retention: number): MongoDocument => ({
  $add: [{ $max: ['$expiry', { $toDate: { $divide: ['$last', 1000] } }] }, retention],
});

/**
 * Decides on a request for a lock, which the document tells afterwards. A denial that leaves no mark changes nothing, so
 * the server writes nothing.
 */
export function acquirePipeline(request: AcquireRequest, retention: number): Pipeline {
  const { owner, ttl, tokens = 1, wantFor } = request;
  const until = inMs(ttl);
  const mark = wantFor === undefined ? undefined : { $max: [WANTED, inMs(wantFor)] };
  const purge = purgeAt(retention);
  return [
    { $set: judge(owner) },
    ...TOKENS,
    {
      $set: {
        owner: outcome('owner', { granted: { $literal: owner } }),
        expiry: outcome('expiry', { granted: until, again: { $max: [EXPIRY, until] } }),
        last: outcome('last', { granted: '$try.end' }),
        // Clients resend: the holder gets the token that is surely its own, which is the last one.
        n: outcome('n', { granted: blockSize(tokens), again: 1 }),
        wanted: outcome('wanted', { granted: NONE, denied: mark }),
        // A change may be told of as a whole document: a notice left in it would be heard again and again.
        notice: outcome('notice', { granted: NONE, denied: mark && NONE }),
      },
    },
    { $set: { purgeAt: outcome('purgeAt', { granted: purge, again: purge }) } },
    { $unset: 'try' },
  ];
}

/** Only the owner's document is found; whether its lease has expired does not matter while nobody else took it. */
export const ownedBy = ({ key, owner }: Pick<ReleaseRequest, 'key' | 'owner'>): MongoDocument => ({
  _id: key,
  owner,
});

/** The new end of a lease, and what becomes of the record's: it only ever moves away. */
export function renewPipeline(lease: RenewRequest, retention: number): Pipeline {
  const { ttl, shorten, bumpToken } = lease;
  return [
    { $set: { expiry: shorten ? inMs(ttl) : { $max: [EXPIRY, inMs(ttl)] } } },
    { $set: { purgeAt: laterPurge({ $add: ['$expiry', retention] }) } },
    ...(bumpToken ? takeTokens(bumpToken) : []),
  ];
}

const laterPurge = (at: MongoDocument): MongoDocument => ({
  $max: [field('purgeAt', LONG_AGO), at],
});

function takeTokens(asked: number): Pipeline {
  return [...TOKENS, { $set: { last: '$try.end', n: blockSize(asked) } }, { $unset: 'try' }];
}

/**
 * Frees a lock, or keeps it taken by nobody. The record stays, with its token, until the time that the lease gave it, so
 * that no later grant can have a smaller one. `notice` is what listeners watch for, and only a lock that is wanted has one.
 */
export function freePipeline(retainFor: number, retention: number): Pipeline {
  const retained = retainFor > 0;
  return [
    {
      $set: {
        owner: NONE,
        expiry: retained ? inMs(retainFor) : LONG_AGO,
        notice: { $cond: [{ $gt: [WANTED, NOW] }, NOW, NONE] },
        ...(retained && { purgeAt: laterPurge(inMs(retainFor + retention)) }),
      },
    },
  ];
}

/** What is left of the lease, which the server alone can tell; a command that is sent again may be answered without it. */
export const WITH_REMAINING: MongoDocument = {
  owner: 1,
  expiry: 1,
  last: 1,
  n: 1,
  remaining: { $subtract: [EXPIRY, NOW] },
};

/** Both are times of the server: their difference is for how long the lock is still wanted. */
export const WITH_WANTED: MongoDocument = { wanted: 1, notice: 1 };

/** Changes by which a wanted lock became free, told as what changed or, where that is shorter, as the whole document. */
export const RELEASES: Pipeline = [
  {
    $match: {
      $or: [
        { operationType: 'update', 'updateDescription.updatedFields.notice': { $type: 'date' } },
        { operationType: 'replace', 'fullDocument.notice': { $type: 'date' } },
      ],
    },
  },
  { $project: { documentKey: 1 } },
];
