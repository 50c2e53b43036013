import mongoose from 'mongoose';
import * as vitest from 'vitest';
import { describeLockDriver } from '../../lib/testing/driver-conformance.js';
import { describeLockService } from '../../lib/testing/service-conformance.js';
import { mongoConformance } from '../support/mongo-conformance.js';
import { useMongo } from '../support/mongo-server.js';

const mongo = useMongo();

const options = mongoConformance(mongo, 'Mongoose', async (url, database) => {
  const connection = await mongoose.createConnection(url, { dbName: database }).asPromise();
  return { db: connection.db!, close: () => connection.close() };
});

describeLockDriver(vitest, options);
describeLockService(vitest, options);
