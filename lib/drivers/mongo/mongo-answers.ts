import type {
  Denial,
  Grant,
  LockRecord,
  ReleaseResult,
} from '../../interfaces/lock-driver.interface.js';

/** A lock's document, with what the projections add to it. */
export interface MongoRecord {
  readonly _id: string;
  readonly owner: string | null;
  readonly expiry: Date;
  /** The last token granted. */
  readonly last: number;
  /** How many tokens were granted with it. */
  readonly n: number;
  readonly wanted: Date | null;
  /** When it became free while it was wanted. */
  readonly notice: Date | null;
  readonly purgeAt: Date;
  /** Not there where the server answers from its memory to a command that was sent again. */
  readonly remaining?: number;
}

/** The block that ends at the record's last token. */
export function grantOf({ last, n }: Pick<MongoRecord, 'last' | 'n'>): Grant {
  return { firstToken: last - n + 1, tokens: n };
}

/** Who holds the lock, and for how long. */
export function denialOf({ owner, remaining }: Pick<MongoRecord, 'owner' | 'remaining'>): Denial {
  return {
    ...(remaining !== undefined && { retryAfter: Math.max(1, remaining) }),
    ...(owner !== null && { owner }),
  };
}

/** Whether the lock was freed, and for how long others still want it. */
export function releaseOf(record: Pick<MongoRecord, 'wanted' | 'notice'> | null): ReleaseResult {
  if (record === null) {
    return { released: false };
  }
  const { wanted, notice } = record;
  return notice && wanted
    ? { released: true, wantedFor: wanted.getTime() - notice.getTime() }
    : { released: true };
}

/** A lock that is held now, or null. */
export function describe(record: MongoRecord): LockRecord | null {
  const { _id: key, owner, last, remaining = 0 } = record;
  return remaining > 0 ? { key, owner: owner ?? '', fencingToken: String(last), remaining } : null;
}

/** Whether anybody had the lock, though perhaps for no one. */
export function wasTaken({ remaining, expiry }: MongoRecord): boolean {
  return remaining === undefined ? expiry.getTime() > 0 : remaining > 0;
}
