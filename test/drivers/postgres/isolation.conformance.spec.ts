import * as vitest from 'vitest';
import { PostgresLockDriver } from '../../../lib/drivers/postgres/postgres-lock.driver.js';
import { describeLockDriver } from '../../../lib/testing/driver-conformance.js';
import { conformanceOn } from '../../support/postgres/conformance-on.js';
import { usePool, usePostgres } from '../../support/postgres/use-postgres.js';

vitest.describe.each([
  { isolation: 'repeatable read', prepare: true },
  { isolation: 'serializable', prepare: true },
  { isolation: 'serializable', prepare: false },
])('on a database whose default is $isolation, with prepare: $prepare', (how) => {
  const database = usePostgres({ default_transaction_isolation: how.isolation });
  const pool = usePool(database.url);

  describeLockDriver(vitest, {
    name: 'postgres',
    ...conformanceOn(database),
    create: () => new PostgresLockDriver({ pool, prepare: how.prepare }),
    second: () => new PostgresLockDriver({ pool, prepare: how.prepare }),
  });
});
