import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { nest11 } from './test/nest11/nest11.plugin.js';

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Where .ci/run wants the numbers written. */
const report = process.env['TEST_REPORT'];

export default defineConfig({
  resolve: {
    alias: [
      { find: /^nestjs-distributed-lock$/, replacement: source('lib/index.ts') },
      {
        find: /^nestjs-distributed-lock\/(mongo|postgres|redis|typeorm)$/,
        replacement: source('lib/drivers/$1/index.ts'),
      },
      { find: /^nestjs-distributed-lock\/testing$/, replacement: source('lib/testing/index.ts') },
    ],
  },
  test: {
    reporters: report ? ['default', ['json', { outputFile: report }]] : ['default'],
    // A promise that nobody awaits is a bug in this package: an unhandled rejection fails the run.
    dangerouslyIgnoreUnhandledErrors: false,
    projects: [
      {
        extends: true,
        test: {
          name: 'lib',
          include: ['test/**/*.spec.ts'],
          exclude: [
            '**/node_modules/**',
            'test/conformance/**',
            'test/drivers/**',
            'test/e2e/**',
            'test/package/tarball.spec.ts',
          ],
          setupFiles: ['test/support/setup.ts'],
          provide: { nest: 12 },
        },
      },
      {
        extends: true,
        test: {
          name: 'drivers',
          include: ['test/conformance/**/*.spec.ts', 'test/drivers/**/*.spec.ts'],
          setupFiles: ['test/support/setup.ts'],
          globalSetup: [
            'test/support/redis/redis.global-setup.ts',
            'test/support/postgres/postgres.global-setup.ts',
            'test/support/mongo.global-setup.ts',
          ],
          // Patience with servers on a busy machine, not a claim about speed.
          testTimeout: 60_000,
          hookTimeout: 60_000,
          expect: { poll: { timeout: 20_000 } },
          // They mostly wait for servers.
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'nest 12',
          include: ['test/e2e/**/*.spec.ts'],
          setupFiles: ['test/support/setup.ts'],
          globalSetup: ['test/support/redis/redis.global-setup.ts'],
          provide: { nest: 12 },
        },
      },
      {
        // All that knows of Nest, on the other major that we support.
        extends: true,
        plugins: [nest11()],
        test: {
          name: 'nest 11',
          include: [
            'test/e2e/**/*.spec.ts',
            'test/types/**/*.spec.ts',
            'test/unit/{decorators,filters,interceptors,service,testing}/**/*.spec.ts',
          ],
          setupFiles: ['test/support/setup.ts'],
          globalSetup: ['test/nest11/install.ts', 'test/support/redis/redis.global-setup.ts'],
          provide: { nest: 11 },
        },
      },
      {
        // After the others, alone: installing packages would slow everything that runs beside it.
        extends: true,
        test: {
          name: 'package',
          include: ['test/package/tarball.spec.ts'],
          sequence: { groupOrder: 2 },
        },
      },
    ],
    coverage: {
      provider: 'v8',
      include: ['lib/**/*.ts'],
      reporter: ['text', 'html', 'json-summary'],
      thresholds: {
        'lib/core/**': { lines: 95 },
        'lib/drivers/**': { lines: 95 },
      },
    },
  },
});
