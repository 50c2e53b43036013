import * as vitest from 'vitest';
import { PostgresLockDriver } from '../../lib/drivers/postgres/postgres-lock.driver.js';
import type { ConformanceOptions } from '../../lib/testing/conformance/conformance-options.js';
import { describeLockDriver } from '../../lib/testing/driver-conformance.js';
import { describeLockService } from '../../lib/testing/service-conformance.js';
import { conformanceOn } from '../support/postgres/conformance-on.js';
import { usePool, usePostgres } from '../support/postgres/use-postgres.js';

const database = usePostgres();
const pool = usePool(database.url);

const postgres: ConformanceOptions = {
  name: 'postgres',
  ...conformanceOn(database),
  create: () => new PostgresLockDriver(pool),
  second: () => new PostgresLockDriver({ pool, poolSize: 5 }),
};

describeLockDriver(vitest, postgres);
describeLockService(vitest, postgres);
