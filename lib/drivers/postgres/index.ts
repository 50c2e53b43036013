export type { TableName } from './identifiers.js';
export type { PgPool } from './pg-port.js';
export { PostgresLockDriver } from './postgres-lock.driver.js';
export type { PostgresLockDriverOptions, PostgresTableOptions } from './postgres-options.js';
export { schema } from './schema.js';
