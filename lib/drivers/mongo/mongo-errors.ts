import { LockDriverError } from '../../errors/lock-driver.error.js';

/** Two upserts of one new key crossed, and the other one was first. */
const DUPLICATE_KEY = 11000;

/** The deployment has no change streams, or not for us; that will hardly change soon. */
const NO_CHANGE_STREAMS = new Set([
  13, // Unauthorized
  59, // CommandNotFound
  115, // CommandNotSupported
  136, // change streams are not enabled (Amazon DocumentDB)
  238, // NotImplemented
  40324, // unrecognized stage
  40573, // only supported on replica sets
]);

const FAIL_OVER =
  'the replica set has no primary for the moment, or only a secondary was connected to';
const NO_RIGHT =
  'the user needs the role readWrite on the database, or find, insert and update on the collection';
const NO_MAJORITY =
  'a majority of the replica set did not confirm the write in time: it may hold or not';

/** What to look at, by the server's code. */
const ADVICE: Readonly<Record<number, string>> = {
  9: 'the server does not know the operators that are used: MongoDB 4.4 or later is needed',
  13: NO_RIGHT,
  18: 'the user could not log in',
  50: 'the server did not end in time: see the option `timeout`',
  64: NO_MAJORITY,
  79: 'the replica set does not know the write concern',
  91: FAIL_OVER,
  100: 'the replica set has too few members for a majority',
  168: 'the server does not know the operators that are used: MongoDB 4.4 or later is needed',
  189: FAIL_OVER,
  10107: FAIL_OVER,
  11600: FAIL_OVER,
  11602: FAIL_OVER,
  13435: FAIL_OVER,
  13436: FAIL_OVER,
};

/** The same for what the client finds out by itself, by the error's class. */
const ADVICE_OF_CLIENT: Readonly<Record<string, string>> = {
  MongoNetworkError: 'the connection broke, so the outcome is unknown',
  MongoNetworkTimeoutError: 'the server did not answer in time, so the outcome is unknown',
  MongoServerSelectionError: 'no server can be reached, or the replica set has no primary',
  MongoNotConnectedError: 'the client was closed: close it after the locks',
  MongoTopologyClosedError: 'the client was closed: close it after the locks',
  MongoClientClosedError: 'the client was closed: close it after the locks',
  MongoWaitQueueTimeoutError: 'all connections of the pool are in use: see maxPoolSize',
};

interface MongoFailure {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly keyPattern?: object;
}

/** What the server calls it; errors of the client have no code, or one of letters. */
function codeOf(cause: unknown): number | undefined {
  const { code } = (cause ?? {}) as MongoFailure;
  return typeof code === 'number' ? code : undefined;
}

/** Whether a new key was written by somebody else in the same moment; any other index that is unique is none of ours. */
export function isLostUpsert(cause: unknown): boolean {
  const { keyPattern } = (cause ?? {}) as MongoFailure;
  return codeOf(cause) === DUPLICATE_KEY && (keyPattern === undefined || '_id' in keyPattern);
}

/** Whether there is no use in trying again soon to open a change stream. */
export function hasNoChangeStreams(cause: unknown): boolean {
  return NO_CHANGE_STREAMS.has(codeOf(cause) ?? 0);
}

/** What the driver rejects with: the outcome is unknown, and the message says where to look. */
export function mongoError(
  doing: string,
  cause: unknown,
  keys: readonly string[],
): LockDriverError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const advice = adviceFor(cause);
  return new LockDriverError(`MongoDB failed to ${doing}: ${reason}${advice && ` (${advice})`}`, {
    keys,
    cause,
  });
}

function adviceFor(cause: unknown): string {
  const code = codeOf(cause);
  const { name } = (cause ?? {}) as MongoFailure;
  return (
    (code !== undefined && ADVICE[code]) ||
    (typeof name === 'string' && ADVICE_OF_CLIENT[name]) ||
    ''
  );
}
