import type { TestProject } from 'vitest/node';
import { findOrInstall, type ProgramSource, refuseOrWarn } from '../programs.js';
import { PostgresServer } from './postgres-server.js';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The PostgreSQL server that tests share; the role may create databases and roles. */
    postgres: string;
    /** Where the tests get a pooler from. */
    pgbouncer: ProgramSource;
  }
}

/** The server of `POSTGRES_URL`, or one for all tests that do not need a server to themselves. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | void> {
  const pgbouncer = await findOrInstall('pgbouncer', 'Install pgbouncer.');
  if (pgbouncer.kind === 'none') {
    refuseOrWarn('PgBouncer', pgbouncer.reason);
  }
  project.provide('pgbouncer', pgbouncer);
  const url = process.env['POSTGRES_URL'];
  if (url) {
    project.provide('postgres', url);
    return undefined;
  }
  const server = await PostgresServer.start();
  project.provide('postgres', server.url());
  return () => server.stop();
}
