import { LockConfigError } from '../../errors/lock-config.error.js';
import type { MongoSettings } from './mongo-options.js';
import type { MongoDatabase } from './mongo-port.js';

/** MongoDB 4.4: the first whose projections compute something. */
const OLDEST_WIRE_VERSION = 9;

interface Hello {
  readonly maxWireVersion?: number;
  readonly setName?: string;
  readonly msg?: string;
}

/** Refuses a server that is too old. */
export function checkVersion(hello: unknown): void {
  const { maxWireVersion = 0 } = hello as Hello;
  if (maxWireVersion < OLDEST_WIRE_VERSION) {
    throw new LockConfigError('This MongoDB is too old to keep locks: 4.4 or later is needed');
  }
}

/** Whether the server belongs to a replica set or a sharded cluster: others have no change streams. */
export function hasChangeStreams(hello: unknown): boolean {
  const { setName, msg } = hello as Hello;
  return setName !== undefined || msg === 'isdbgrid';
}

/** Whether locks can still be written while a change stream has one connection of the pool. */
export function hasConnectionToSpare({ client }: MongoDatabase): boolean {
  return client?.options?.maxPoolSize !== 1;
}

/** The collections of each client whose index this process has seen to. */
const indexed = new WeakMap<object, Set<string>>();

/**
 * Makes the index by which the server forgets what is old, once in this process. All works without it, so a failure is told
 * and no more; not even that, if nobody `cares` any more.
 */
export async function makeIndexOnce(
  { db }: MongoSettings,
  collection: string,
  make: () => Promise<unknown>,
  cares: () => boolean,
): Promise<void> {
  const namespace = `${db.databaseName}.${collection}`;
  const client = db.client ?? db;
  const known = indexed.get(client) ?? new Set();
  indexed.set(client, known);
  if (known.has(namespace)) {
    return;
  }
  known.add(namespace);
  try {
    await make();
  } catch (error) {
    if (cares()) {
      warnOfIndex(namespace, error);
    } else {
      known.delete(namespace);
    }
  }
}

function warnOfIndex(namespace: string, error: unknown): void {
  const reason = error instanceof Error ? error.message : String(error);
  process.emitWarning(
    `What is old is not removed from ${namespace}, for its index could not be made: ${reason}. Allow createIndex, or ` +
      'make a TTL index on purgeAt with expireAfterSeconds: 0 and set createIndex: false',
    { code: 'LOCK_MONGO_INDEX' },
  );
}
