import type { LockDriver } from '../../lib/interfaces/lock-driver.interface.js';
import { MongoLockDriver } from '../../lib/drivers/mongo/mongo-lock.driver.js';
import type { MongoDatabase } from '../../lib/drivers/mongo/mongo-port.js';
import type { ConformanceOptions } from '../../lib/testing/conformance/conformance-options.js';
import type { MongoForTests } from './mongo-server.js';

/** A database, and how to close the client that it belongs to. */
export interface Connection {
  readonly db: MongoDatabase;
  close(): Promise<unknown>;
}

/** How the suites get MongoDB drivers, each with a client of its own. */
export function mongoConformance(
  mongo: MongoForTests,
  by: string,
  connect: (url: string, database: string) => Promise<Connection>,
): ConformanceOptions {
  const connections = new Map<LockDriver, Connection>();
  const create = async (): Promise<LockDriver> => {
    const connection = await connect(mongo.url, mongo.database);
    const driver = new MongoLockDriver(connection.db);
    connections.set(driver, connection);
    return driver;
  };
  return {
    name: `mongo (${by}, on ${mongo.label})`,
    create,
    second: create,
    dispose: async (driver) => {
      await driver.close?.();
      await connections.get(driver)?.close();
    },
    serverTime: () => mongo.serverTime(),
    purge: () => mongo.purge(),
  };
}
