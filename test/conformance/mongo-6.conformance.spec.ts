import { MongoClient } from 'mongodb6';
import * as vitest from 'vitest';
import { describeLockDriver } from '../../lib/testing/driver-conformance.js';
import { describeLockService } from '../../lib/testing/service-conformance.js';
import { mongoConformance } from '../support/mongo-conformance.js';
import { useMongo } from '../support/mongo-server.js';

// Told of whole documents, as servers do where that is shorter.
const mongo = useMongo({ replicaSet: 'rs', changeForm: 'replace' });

const options = mongoConformance(mongo, 'mongodb 6', async (url, database) => {
  const client = await MongoClient.connect(url);
  return { db: client.db(database), close: () => client.close() };
});

describeLockDriver(vitest, options);
describeLockService(vitest, options);
