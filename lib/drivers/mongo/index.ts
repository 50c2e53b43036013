export { MongoLockDriver } from './mongo-lock.driver.js';
export type { MongoLockDriverOptions } from './mongo-options.js';
export type {
  MongoChangeStream,
  MongoCollection,
  MongoDatabase,
  MongoDocument,
} from './mongo-port.js';
