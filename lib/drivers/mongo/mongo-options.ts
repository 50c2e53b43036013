import { LockConfigError } from '../../errors/lock-config.error.js';
import { badOption, badSecretOption } from '../../options/option-error.js';
import {
  duration,
  flag,
  mergeOptions,
  type OptionParser,
  type OptionParsers,
} from '../../options/option-parsers.js';
import type { MongoDatabase } from './mongo-port.js';

/** Options of a {@link MongoLockDriver}. */
export interface MongoLockDriverOptions {
  /** The database that keeps the locks: `client.db()`, or that of Mongoose or TypeORM. */
  readonly db: MongoDatabase;
  /**
   * The collection that keeps the locks; that of the fencing gate is called like it and `_gate`.
   * @default 'distributed.locks'
   */
  readonly collection?: string;
  /**
   * How long a lock is remembered after its lease, so that its fencing tokens go on; at least a minute.
   * @default '1m'
   */
  readonly retention?: number | string;
  /**
   * How long the server may work on one command, and wait for a majority to confirm it; at most 20 s.
   * @default '5s'
   */
  readonly timeout?: number | string;
  /**
   * Make the TTL index by which the server forgets old locks.
   * @default true
   */
  readonly createIndex?: boolean;
  /**
   * Watch for releases by a change stream where the deployment has them.
   * @default true
   */
  readonly changeStream?: boolean;
}

/** Options that were checked, durations in milliseconds. */
export interface MongoSettings {
  readonly db: MongoDatabase;
  readonly collection: string;
  readonly retention: number;
  readonly timeout: number;
  readonly createIndex: boolean;
  readonly changeStream: boolean;
}

/**
 * The shortest retention, whatever an instance says: the statements of all others must have ended by then, for one that
 * began before a record was purged would grant a token of that time.
 */
export const MIN_RETENTION = 60_000;

/** So much longer may a command have been under way before the server began to count. */
const MAX_TIMEOUT = MIN_RETENTION / 3;

const DEFAULTS: Omit<MongoSettings, 'db'> = {
  collection: 'distributed.locks',
  retention: MIN_RETENTION,
  timeout: 5000,
  createIndex: true,
  changeStream: true,
};

const parseDb: OptionParser<MongoDatabase> = (value, name) => {
  if (isDb(value)) {
    return value;
  }
  throw isClient(value)
    ? new LockConfigError(`Option \`${name}\` is a client; it must be a database: client.db()`)
    : badSecretOption(
        name,
        value,
        'a Db of the mongodb package: client.db(), or connection.db of Mongoose once it is connected',
      );
};

const parseTimeout: OptionParser<number> = (value, name, current) => {
  const allowed = 'between 10 ms and 20 s';
  const parsed = duration({ min: 10, allowed })(value, name, current);
  if (parsed > MAX_TIMEOUT) {
    throw badOption(name, value, allowed);
  }
  return parsed;
};

const PARSERS: OptionParsers<MongoSettings> = {
  db: parseDb,
  collection: (value, name) => {
    // What the server refuses, and would tell only when the first lock is taken.
    if (typeof value !== 'string' || !/^(?!system\.)[^$\0.][^$\0]*$/.test(value)) {
      throw badOption(name, value, 'the name of a collection');
    }
    return value;
  },
  retention: duration({ min: MIN_RETENTION, allowed: 'a duration of at least a minute' }),
  timeout: parseTimeout,
  createIndex: flag,
  changeStream: flag,
};

/** The collection of the fencing gate. */
export function gateOf(collection: string): string {
  return `${collection}_gate`;
}

/** Tells a database from options by its shape, and checks both. */
export function resolveMongoOptions(given: MongoDatabase | MongoLockDriverOptions): MongoSettings {
  const options: unknown = isDb(given) || isClient(given) ? { db: given } : given;
  const db = (options as Partial<MongoSettings> | null | undefined)?.db;
  return mergeOptions({ ...DEFAULTS, db: parseDb(db, 'db', undefined as never) }, options, PARSERS);
}

function isDb(value: unknown): value is MongoDatabase {
  const { collection, command, databaseName } = (value ?? {}) as Partial<MongoDatabase>;
  return (
    typeof collection === 'function' &&
    typeof command === 'function' &&
    typeof databaseName === 'string'
  );
}

function isClient(value: unknown): boolean {
  const { db, connect } = (value ?? {}) as Record<string, unknown>;
  return typeof db === 'function' && typeof connect === 'function';
}
