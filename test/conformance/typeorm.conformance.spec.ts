import { DataSource } from 'typeorm';
import * as vitest from 'vitest';
import { TypeOrmLockDriver } from '../../lib/drivers/typeorm/typeorm-lock.driver.js';
import type { ConformanceOptions } from '../../lib/testing/conformance/conformance-options.js';
import { describeLockDriver } from '../../lib/testing/driver-conformance.js';
import { describeLockService } from '../../lib/testing/service-conformance.js';
import { conformanceOn } from '../support/postgres/conformance-on.js';
import { usePostgres } from '../support/postgres/use-postgres.js';

const database = usePostgres();
// Numbers that are parsed another way change nothing.
const dataSource = new DataSource({ type: 'postgres', url: database.url, parseInt8: true });
vitest.beforeAll(() => dataSource.initialize());
vitest.afterAll(() => dataSource.destroy());

const typeorm: ConformanceOptions = {
  name: 'typeorm',
  ...conformanceOn(database),
  create: () => new TypeOrmLockDriver(dataSource),
  second: () => new TypeOrmLockDriver({ dataSource, notify: false }),
};

describeLockDriver(vitest, typeorm);
describeLockService(vitest, typeorm);
