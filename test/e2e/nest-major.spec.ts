import { createRequire } from 'node:module';
import manifest from '@nestjs/common/package.json' with { type: 'json' };
import { LockService, MemoryLockDriver } from 'nestjs-distributed-lock';
import { Observable } from 'rxjs';
import { describe, expect, inject, it } from 'vitest';

const { cache } = createRequire(import.meta.url);

/** The folders that a package was loaded from. */
function foldersOf(name: string): Set<string> {
  const folder = new RegExp(`^.*/node_modules/${name}/`);
  return new Set(Object.keys(cache).flatMap((file) => folder.exec(file)?.[0] ?? []));
}

describe('these tests', () => {
  it('run on the major version of Nest that they are meant to run on', () => {
    expect(manifest.version).toMatch(new RegExp(`^${inject('nest')}\\.`));
  });

  it('load each package once, for what it exports is told apart by identity', () => {
    expect(new LockService(new MemoryLockDriver()).events$).toBeInstanceOf(Observable);
    expect(foldersOf('rxjs').size).toBe(1);
    expect(foldersOf('reflect-metadata').size).toBe(1);
  });
});
