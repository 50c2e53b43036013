import { MongoMemoryReplSet } from 'mongodb-memory-server-core';
import type { TestProject } from 'vitest/node';
import { findMongo, type MongoSource } from './mongo-source.js';

/** What the tests run against: a server's address, or a stand-in that each file starts for itself. */
export interface MongoUnderTest {
  readonly url: string | undefined;
  /** Names it in the titles of tests. */
  readonly label: string;
}

declare module 'vitest' {
  export interface ProvidedContext {
    /** Where the tests get a MongoDB from. */
    mongo: MongoUnderTest;
  }
}

/** Looks for MongoDB once, says what was found, and stops what it has started. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const source = await findMongo();
  const server = await start(source);
  const url = source.kind === 'url' ? source.url : server?.getUri();
  console.log(`The tests of the MongoDB driver run against ${source.label}.`);
  if (source.kind === 'stand-in') {
    console.log(
      'It shows how the driver is wired, not what MongoDB does. Set MONGODB_URL, put mongod on the PATH, or set ' +
        'MONGODB_DOWNLOAD=true.',
    );
  }
  project.provide('mongo', { url, label: source.label });
  return async () => void (await server?.stop());
}

/** A replica set of one, for only those have change streams. */
async function start(source: MongoSource): Promise<MongoMemoryReplSet | undefined> {
  return source.kind === 'program'
    ? MongoMemoryReplSet.create({
        replSet: { count: 1, storageEngine: 'wiredTiger' },
        binary: { systemBinary: source.path },
      })
    : undefined;
}
