import { DataSource } from 'typeorm';
import * as vitest from 'vitest';
import { describeLockDriver } from '../../lib/testing/driver-conformance.js';
import { describeLockService } from '../../lib/testing/service-conformance.js';
import { mongoConformance } from '../support/mongo-conformance.js';
import { useMongo } from '../support/mongo-server.js';

const mongo = useMongo();

const options = mongoConformance(mongo, 'TypeORM', async (url, database) => {
  const dataSource = await new DataSource({ type: 'mongodb', url, database }).initialize();
  const client = dataSource.mongoManager.mongoQueryRunner.databaseConnection;
  return { db: client.db(database), close: () => dataSource.destroy() };
});

describeLockDriver(vitest, options);
describeLockService(vitest, options);
