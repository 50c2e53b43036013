import type { ConformanceOptions } from '../../../lib/testing/conformance/conformance-options.js';
import type { TestDatabase } from './use-postgres.js';

const TABLE = 'distributed_lock';
const CLOCK = '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint';

/** What the suites need to know of the locks in a database. */
export function conformanceOn(
  database: TestDatabase,
): Pick<ConformanceOptions, 'serverTime' | 'purge'> {
  return {
    serverTime: async () => {
      const [row] = await database.query(`SELECT ${CLOCK}::text AS now`);
      return Number(row?.['now']);
    },
    // All that is free goes, as if the retention were over for everything.
    purge: () => database.query(`DELETE FROM ${TABLE} WHERE expires < ${CLOCK}`),
  };
}
