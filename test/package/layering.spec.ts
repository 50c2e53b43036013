import { existsSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { type Import, importsOf, readSources, type Sources, valueCycles } from './module-graph.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const lib: Sources = existsSync(new URL('../../lib', import.meta.url))
  ? readSources(root, 'lib')
  : new Map();

/** What a driver may load besides Node itself and its own folder: its peers, and for typeorm the postgres driver. */
const driverPeers: Readonly<Record<string, readonly string[]>> = {
  redis: ['ioredis', 'iovalkey', 'redis'],
  postgres: ['pg'],
  typeorm: ['pg', 'typeorm'],
  mongo: ['bson', 'mongodb'],
};
const driverNeighbours: Readonly<Record<string, readonly string[]>> = { typeorm: ['postgres'] };

const barrels = [/^lib\/index\.ts$/, /^lib\/[^/]+\/index\.ts$/, /^lib\/drivers\/[^/]+\/index\.ts$/];
const isIndex = (file: string): boolean => /(^|\/)index\.ts$/.test(file);
const entryPoints = new Set(
  Object.values(manifest.exports)
    .filter((entry) => typeof entry === 'object')
    .map((entry) => entry.default.replace('./dist/', 'lib/').replace(/\.js$/, '.ts')),
);

function within(item: Import, folders: readonly string[], packages: readonly string[]): boolean {
  const { target, specifier } = item;
  if (target !== undefined) return folders.some((folder) => target.startsWith(`${folder}/`));
  return (
    (specifier.startsWith('node:') && isBuiltin(specifier)) ||
    packages.some((name) => specifier === name || specifier.startsWith(`${name}/`))
  );
}

/** What all drivers share: the files beside their folders, and how options are read and refused. */
const sharedByDrivers = /^lib\/(drivers\/[^/]+|options\/option-(parsers|error))\.ts$/;

function mayImport(item: Import): boolean {
  const shared = ['lib/interfaces', 'lib/errors'];
  if (item.from.startsWith('lib/core/')) return within(item, ['lib/core', ...shared], []);
  if (!item.from.startsWith('lib/drivers/')) return true;
  if (item.target !== undefined && sharedByDrivers.test(item.target)) return true;
  const driver = /^lib\/drivers\/([^/]+)\//.exec(item.from)?.[1];
  if (driver === undefined) return within(item, shared, []);
  const folders = [driver, ...(driverNeighbours[driver] ?? [])].map(
    (name) => `lib/drivers/${name}`,
  );
  return within(item, [...folders, ...shared], driverPeers[driver] ?? []);
}

const show = ({ from, specifier }: Import): string => `${from} -> ${specifier}`;

const rules: Readonly<Record<string, (sources: Sources) => string[]>> = {
  cycles: (sources) => valueCycles(importsOf(sources)).map((cycle) => cycle.join(' -> ')),
  layers: (sources) =>
    importsOf(sources)
      .filter((item) => !mayImport(item))
      .map(show),
  throughBarrel: (sources) =>
    importsOf(sources)
      .filter(({ from, target }) => target && isIndex(target) && !entryPoints.has(from))
      .map(show),
  ownName: (sources) =>
    importsOf(sources)
      .filter(({ specifier }) => `${specifier}/`.startsWith(`${manifest.name}/`))
      .map(show),
  unresolved: (sources) =>
    importsOf(sources)
      .filter(({ target }) => target !== undefined && !sources.has(target))
      .map(show),
  strayBarrel: (sources) =>
    [...sources.keys()].filter(
      (file) => isIndex(file) && !barrels.some((barrel) => barrel.test(file)),
    ),
};

describe('the layers of lib', { timeout: 60_000 }, () => {
  it.each(Object.keys(rules))('break no rule: %s', (rule) => {
    expect(rules[rule]?.(lib)).toEqual([]);
  });
});

describe('the layering rules', () => {
  const broken: readonly (readonly [string, string, Readonly<Record<string, string>>])[] = [
    [
      'a cycle of value imports',
      'cycles',
      {
        'lib/a.ts': `import { b } from './b.js';`,
        'lib/b.ts': `export { c } from './core/c.js';`,
        'lib/core/c.ts': `await import('../a.js');`,
      },
    ],
    [
      'Nest in the engine',
      'layers',
      { 'lib/core/a.ts': `import { Logger } from '@nestjs/common';` },
    ],
    [
      'rxjs types in the engine',
      'layers',
      { 'lib/core/a.ts': `import type { Subject } from 'rxjs';` },
    ],
    ['a bare builtin in the engine', 'layers', { 'lib/core/a.ts': `import { join } from 'path';` }],
    [
      'a driver in the engine',
      'layers',
      { 'lib/core/a.ts': `import { M } from '../drivers/memory/m.js';` },
    ],
    [
      'the engine in a driver',
      'layers',
      { 'lib/drivers/memory/a.ts': `import { c } from '../../core/c.js';` },
    ],
    [
      'a driver in another driver',
      'layers',
      { 'lib/drivers/redis/a.ts': `type P = import('../postgres/p.js').P;` },
    ],
    [
      'a driver in what drivers share',
      'layers',
      { 'lib/drivers/a.ts': `import { M } from './memory/m.js';` },
    ],
    ["another driver's peer", 'layers', { 'lib/drivers/redis/a.ts': `import pg from 'pg';` }],
    [
      'an internal import through a barrel',
      'throughBarrel',
      { 'lib/lock.service.ts': `import { LockError } from './errors/index.js';` },
    ],
    [
      'a barrel too deep',
      'strayBarrel',
      { 'lib/core/line/index.ts': `export * from './line.js';` },
    ],
    ['the package by its own name', 'ownName', { 'lib/a.ts': `import 'nestjs-distributed-lock';` }],
    ['a file that is not there', 'unresolved', { 'lib/a.ts': `import './b.js';` }],
  ];

  it.each(broken)('notice %s', (_, rule, files) => {
    expect(rules[rule]?.(new Map(Object.entries(files)))).toHaveLength(1);
  });

  it('allow a cycle of types, the typeorm driver on postgres, and peers', () => {
    const allowed = new Map([
      ['lib/interfaces/a.ts', `import type { B } from './b.js';`],
      ['lib/interfaces/b.ts', `import type { A } from './a.js';`],
      ['lib/drivers/typeorm/d.ts', `import { P } from '../postgres/p.js';`],
      ['lib/drivers/postgres/p.ts', `import { Pool } from 'pg'; import 'node:crypto';`],
      ['lib/drivers/memory/m.ts', `import '../shared.js'; import '../../options/option-error.js';`],
      ['lib/drivers/shared.ts', `import type { A } from '../interfaces/a.js';`],
      ['lib/options/option-error.ts', ''],
      ['lib/index.ts', `export * from './errors/index.js';`],
      ['lib/errors/index.ts', ''],
    ]);
    const complaints = Object.values(rules).flatMap((rule) => rule(allowed));
    expect(complaints).toEqual([]);
  });
});
