import { createRequire } from 'node:module';
import type { Plugin } from 'vite';
import manifest from './package.json' with { type: 'json' };

const require = createRequire(import.meta.url);
const installed = new Set(Object.keys(manifest.dependencies));

/** Gives sources and tests the packages of this folder, by the same files as those packages give one another. */
export function nest11(): Plugin {
  return {
    name: 'nest11',
    enforce: 'pre',
    resolveId(specifier) {
      const name = packageOf(specifier);
      if (installed.has(name)) {
        return require.resolve(specifier);
      }
      if (name.startsWith('@nestjs/')) {
        this.error(`${name} would be that of Nest 12: add it to test/nest11/package.json`);
      }
      return undefined;
    },
  };
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}
