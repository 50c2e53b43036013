import { MongoClient } from 'mongodb';
import * as vitest from 'vitest';
import { describeLockDriver } from '../../lib/testing/driver-conformance.js';
import { describeLockService } from '../../lib/testing/service-conformance.js';
import { mongoConformance } from '../support/mongo-conformance.js';
import { useMongo } from '../support/mongo-server.js';

// A single server has no change streams, and a client may read numbers as it likes.
const mongo = useMongo({});

const options = mongoConformance(
  mongo,
  'mongodb 7 with bigints and without retries',
  async (url, database) => {
    const client = await MongoClient.connect(url, { useBigInt64: true, retryWrites: false });
    return { db: client.db(database), close: () => client.close() };
  },
);

describeLockDriver(vitest, options);
describeLockService(vitest, options);
