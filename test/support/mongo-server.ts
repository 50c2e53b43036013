import { randomUUID } from 'node:crypto';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, inject } from 'vitest';
import type { ChangeForm } from './mongo/change-log.js';
import { MongoStandIn, type StandInOptions } from './mongo/stand-in.js';

const HOUR = 3_600_000;

/** A MongoDB for the tests of one file, and a database in it of their own. */
export interface MongoForTests {
  /** Names what it is, in titles. */
  readonly label: string;
  readonly url: string;
  readonly database: string;
  /** The server's time in microseconds. */
  serverTime(): Promise<number>;
  /** Removes all locks that have been free for so long that the server might have removed them within the next hour. */
  purge(): Promise<void>;
}

interface StandInChoice extends StandInOptions {
  readonly changeForm?: ChangeForm;
}

/** The MongoDB that the run has found, or a stand-in for it. */
export function useMongo(choice: StandInChoice = { replicaSet: 'rs' }): MongoForTests {
  const { url, label } = inject('mongo');
  return url === undefined ? useStandIn(label, choice) : useServer(url, label);
}

function useStandIn(
  label: string,
  { changeForm = 'update', ...options }: StandInChoice,
): MongoForTests {
  let standIn!: MongoStandIn;
  beforeAll(async () => {
    standIn = await MongoStandIn.start(options);
    standIn.commands.store.changeForm = changeForm;
  });
  afterAll(() => standIn.stop());
  return {
    label: options.replicaSet === undefined ? `${label} without a replica set` : label,
    database: 'locks',
    get url() {
      return standIn.url;
    },
    serverTime: async () => standIn.now.getTime() * 1000,
    purge: async () => {
      standIn.advance(HOUR);
      standIn.purge();
    },
  };
}

function useServer(url: string, label: string): MongoForTests {
  const client = new MongoClient(url);
  const database = `locks-${randomUUID()}`;
  const time = async (): Promise<number> => {
    const { localTime } = (await client.db().command({ hello: 1 })) as { localTime: Date };
    return localTime.getTime();
  };
  afterAll(async () => {
    await client.db(database).dropDatabase();
    await client.close();
  });
  return {
    label,
    database,
    url,
    serverTime: async () => (await time()) * 1000,
    purge: async () => {
      // The clock has to pass the last token, as it would have within the retention.
      const began = await time();
      let now = began;
      while (now - began < 2) {
        now = await time();
      }
      const over = { purgeAt: { $lte: new Date(now + HOUR) } };
      await client.db(database).collection('distributed.locks').deleteMany(over);
    },
  };
}
