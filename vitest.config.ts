import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Where .ci/run wants the numbers written. */
const report = process.env['TEST_REPORT'];

export default defineConfig({
  resolve: {
    alias: [
      { find: /^nestjs-distributed-lock$/, replacement: source('lib/index.ts') },
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
          exclude: ['test/package/tarball.spec.ts'],
          setupFiles: ['test/support/setup.ts'],
        },
      },
      {
        // After the others, alone: installing packages would slow everything that runs beside it.
        extends: true,
        test: {
          name: 'package',
          include: ['test/package/tarball.spec.ts'],
          sequence: { groupOrder: 1 },
        },
      },
    ],
    coverage: {
      provider: 'v8',
      include: ['lib/**/*.ts'],
      reporter: ['text', 'html', 'json-summary'],
      thresholds: {
        'lib/core/**': { lines: 95 },
        'lib/drivers/memory/**': { lines: 95 },
      },
    },
  },
});
