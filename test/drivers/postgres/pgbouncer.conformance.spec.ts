import { Pool } from 'pg';
import * as vitest from 'vitest';
import { PostgresLockDriver } from '../../../lib/drivers/postgres/postgres-lock.driver.js';
import type { ConformanceOptions } from '../../../lib/testing/conformance/conformance-options.js';
import { describeLockDriver } from '../../../lib/testing/driver-conformance.js';
import { describeLockService } from '../../../lib/testing/service-conformance.js';
import { conformanceOn } from '../../support/postgres/conformance-on.js';
import { PgBouncer } from '../../support/postgres/pgbouncer.js';
import { usePostgres } from '../../support/postgres/use-postgres.js';

const program = vitest.inject('pgbouncer');

vitest.describe.skipIf(program.kind === 'none')('behind PgBouncer in transaction mode', () => {
  const database = usePostgres({ default_transaction_isolation: 'repeatable read' });
  let pooler: PgBouncer;
  let pool: Pool;

  vitest.beforeAll(async () => {
    pooler = await PgBouncer.start(program.kind === 'program' ? program.path : '', database.url);
    pool = new Pool({ connectionString: pooler.url });
    pool.on('error', () => undefined);
  });
  vitest.afterAll(async () => {
    await pool.end();
    await pooler.stop();
  });

  const pgbouncer: ConformanceOptions = {
    name: 'postgres (prepare: false)',
    ...conformanceOn(database),
    create: () => new PostgresLockDriver({ pool, prepare: false }),
    second: () => new PostgresLockDriver({ pool, prepare: false }),
  };

  describeLockDriver(vitest, pgbouncer);
  describeLockService(vitest, pgbouncer);
});
