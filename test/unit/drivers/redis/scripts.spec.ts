import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  Script,
  type Scripts,
  scriptsFor,
  type ScriptSettings,
} from '../../../../lib/drivers/redis/scripts.js';

const settings: ScriptSettings = { retention: 61_234, publish: 'PUBLISH', knowsFlags: true };
const sourcesOf = (given: Partial<ScriptSettings> = {}): [name: string, source: string][] =>
  Object.entries(scriptsFor({ ...settings, ...given })).map(([name, { source }]) => [name, source]);
const sourceOf = (name: keyof Scripts, given: Partial<ScriptSettings> = {}): string =>
  scriptsFor({ ...settings, ...given })[name].source;

const withoutNumber = (retention: number): string[] =>
  sourcesOf({ retention }).map(([, source]) => source.replaceAll(String(retention), ''));

describe('a script', () => {
  it('is known by the SHA1 of what is sent', () => {
    for (const knowsFlags of [true, false]) {
      for (const { source, digest } of Object.values(scriptsFor({ ...settings, knowsFlags }))) {
        expect(digest).toBe(createHash('sha1').update(source).digest('hex'));
      }
    }
  });

  it('has its flags in a first line of their own', () => {
    expect(new Script('return 1', ['allow-oom', 'no-writes']).source).toBe(
      '#!lua flags=allow-oom,no-writes\nreturn 1',
    );
    expect(new Script('return 1', []).source).toBe('#!lua\nreturn 1');
    expect(new Script('return 1').source).toBe('return 1');
  });

  it('is another for each retention, command and kind of server', () => {
    const digests = [{}, { retention: 1 }, { publish: 'SPUBLISH' as const }, { knowsFlags: false }]
      .map((given) => scriptsFor({ ...settings, ...given }))
      .map(({ release }) => release.digest);
    expect(new Set(digests).size).toBe(4);
  });
});

describe('the scripts', () => {
  it('have flags on servers that know them, and none on others', () => {
    expect(sourcesOf().filter(([, source]) => !source.startsWith('#!lua'))).toEqual([]);
    expect(
      sourcesOf({ knowsFlags: false }).filter(([, source]) => /#!|flags=|allow-oom/.test(source)),
    ).toEqual([]);
  });

  it('that give memory back or keep it are let through by a server that is full, those that take it are not', () => {
    const allowed = sourcesOf().filter(([, source]) =>
      source.startsWith('#!lua flags=allow-oom\n'),
    );
    expect(allowed.map(([name]) => name)).toEqual(['renew', 'release', 'forceRelease', 'rehearse']);
  });

  it('that only read say so', () => {
    const readOnly = sourcesOf().filter(([, source]) => source.includes('no-writes'));
    expect(readOnly.map(([name]) => name)).toEqual(['inspect']);
    expect(sourceOf('inspect')).not.toMatch(/'(SET|SETRANGE|DEL|PUBLISH)'/);
  });

  it('remember a lock that is free for the retention', () => {
    for (const name of ['acquire', 'renew', 'release'] as const) {
      expect(sourceOf(name)).toMatch(/'PX', .* \+ 61234\)/);
    }
  });

  it.each(['PUBLISH', 'SPUBLISH'] as const)('tell of a release by %s, last', (publish) => {
    for (const name of ['release', 'forceRelease', 'rehearse'] as const) {
      const [, ...told] = sourceOf(name, { publish }).split(`('${publish}', key, '')`);
      expect(told).toHaveLength(1);
      expect(told[0]).not.toContain('call(');
    }
  });

  it('tell of a release so that a refusal does not undo it', () => {
    for (const name of ['release', 'forceRelease'] as const) {
      expect(sourceOf(name)).toContain(`pcall('PUBLISH', key, '')`);
    }
  });

  it('have nothing in them that a user gives but numbers', () => {
    for (const [, source] of sourcesOf()) {
      expect(source).not.toContain('undefined');
      expect(source).not.toContain('[object');
      expect(source).not.toContain('NaN');
    }
    expect(withoutNumber(71_111)).toEqual(withoutNumber(82_222));
  });

  it('read time from the server', () => {
    for (const [name, source] of sourcesOf()) {
      expect([name, source.includes(`'TIME'`)]).toEqual([name, true]);
    }
  });
});
