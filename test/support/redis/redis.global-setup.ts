import type { TestProject } from 'vitest/node';
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
    const message = `The tests that need a Redis server cannot run: ${source.reason}`;
    if (process.env['CI'] === 'true') {
      throw new Error(message);
    }
    console.warn(`\n${'!'.repeat(100)}\n${message}\nThey are SKIPPED.\n${'!'.repeat(100)}\n`);
  }
  project.provide('redis', source);
}
