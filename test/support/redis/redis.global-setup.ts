import type { TestProject } from 'vitest/node';
import { refuseOrWarn } from '../programs.js';
import { findRedis, type RedisSource } from './redis-source.js';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Where the tests get a Redis server from. */
    redis: RedisSource;
    /** The major version of Nest that the tests run on. */
    nest: 11 | 12;
  }
}

/** Looks for Redis once, before any test needs it; in CI the tests that need it may not be skipped. */
export default async function setup(project: TestProject): Promise<void> {
  const source = await findRedis();
  if (source.kind === 'none') {
    refuseOrWarn('a Redis server', source.reason);
  }
  project.provide('redis', source);
}
