import { existsSync } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { createProject, plantDecoys, run, tsc } from './project.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { devDependencies } = manifest;
const shared = {
  '@types/node': devDependencies['@types/node'],
  'reflect-metadata': devDependencies['reflect-metadata'],
  rxjs: devDependencies.rxjs,
};
const optionalPeers = [
  'ioredis',
  'mongodb',
  'pg',
  'redis',
  'typeorm',
  '@nestjs/terminus',
  '@opentelemetry/api',
];
const MINUTES = 60_000;

// Patience for the registry, not a claim about speed.
describe('the tarball', { timeout: 5 * MINUTES }, () => {
  let temp: string;
  let tarball: string;
  let packed: string[];

  beforeAll(async () => {
    temp = await realpath(await mkdtemp(join(tmpdir(), 'package-test-')));
    await run(root, 'npm', ['run', 'build'], 5 * MINUTES);
    const flags = ['--ignore-scripts', '--json', '--pack-destination', temp];
    const [pack] = JSON.parse(await run(root, 'npm', ['pack', ...flags])) as [
      { filename: string; files: { path: string }[] },
    ];
    tarball = join(temp, pack.filename);
    packed = pack.files.map((file) => file.path);
  }, 10 * MINUTES);

  afterAll(() => rm(temp, { recursive: true, force: true }));

  it('holds the build and nothing else', () => {
    const documents = /^(package\.json|README\.md|LICENSE|CHANGELOG\.md)$/;
    const built = /^dist\/.+\.(js|d\.ts|js\.map)$/;
    expect(packed.filter((path) => !documents.test(path) && !built.test(path))).toEqual([]);
  });

  it('holds every file that package.json exports', () => {
    const exported = Object.values(manifest.exports)
      .flatMap((entry) => (typeof entry === 'string' ? [entry] : Object.values(entry)))
      .map((path) => path.replace('./', ''));
    expect(packed).toEqual(expect.arrayContaining(exported));
  });

  describe.each([
    { nest: 12, version: devDependencies['@nestjs/common'], decoys: optionalPeers },
    { nest: 11, version: '11.2.10', decoys: [] },
  ])('under Nest $nest', ({ nest, version, decoys }) => {
    let project: string;

    beforeAll(async () => {
      project = join(temp, `nest-${nest}`);
      await createProject(project, tarball, {
        ...shared,
        '@nestjs/common': version,
        '@nestjs/core': version,
      });
      await plantDecoys(project, decoys);
    }, 10 * MINUTES);

    it('brings none of its optional peers', () => {
      const absent = optionalPeers.filter((name) => !decoys.includes(name));
      const found = absent.filter((name) => existsSync(join(project, 'node_modules', name)));
      expect(found).toEqual([]);
    });

    it.each(['esm.mjs', 'commonjs.cjs'])(
      'boots, locks, loads no optional peer and ends by itself: %s',
      async (consumer) => {
        const output = await run(project, process.execPath, [consumer]);
        expect(JSON.parse(output)).toEqual({
          keys: ['order:7'],
          heldBefore: true,
          token: 'bigint',
          released: true,
          heldAfter: false,
          testing: 'function',
          loadedPeers: [],
        });
      },
    );

    it('compiles in a strict project that checks the declarations too', async () => {
      const compiled = run(project, process.execPath, [tsc, '--project', project], 5 * MINUTES);
      await expect(compiled).resolves.toBe('');
    });
  });
});
