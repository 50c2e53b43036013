import { MongoClient } from 'mongodb';
import * as vitest from 'vitest';
import { describeLockDriver } from '../../lib/testing/driver-conformance.js';
import { describeLockService } from '../../lib/testing/service-conformance.js';
import { mongoConformance } from '../support/mongo-conformance.js';
import { useMongo } from '../support/mongo-server.js';

const mongo = useMongo();

const options = mongoConformance(mongo, 'mongodb 7', async (url, database) => {
  const client = await MongoClient.connect(url);
  return { db: client.db(database), close: () => client.close() };
});

describeLockDriver(vitest, options);
describeLockService(vitest, options);
