import { createRequire } from 'node:module';
import { Mutex } from 'async-mutex';

/** A build of async-mutex: what `import` gives, and what `require` gives, differ a lot in speed. */
export interface Build {
  readonly name: string;
  readonly Mutex: typeof Mutex;
}

const commonJs = createRequire(import.meta.url)('async-mutex') as { readonly Mutex: typeof Mutex };

/** The reference, itself once more to show the noise, and the other build. */
export const BUILDS: readonly [reference: Build, again: Build, other: Build] = [
  { name: 'async-mutex', Mutex },
  { name: 'async-mutex again', Mutex },
  { name: 'async-mutex (CommonJS)', Mutex: commonJs.Mutex },
];
