import * as lib from 'nestjs-distributed-lock';
import {
  LockConfigError,
  LockError,
  type LockEvent,
  type LockOptions,
  MemoryLockDriver,
  type WithLockOptions,
} from 'nestjs-distributed-lock';
import { describe, expect, it } from 'vitest';
import {
  type CampaignSettings,
  completeCampaign,
  NOTHING_GIVEN,
} from '../../lib/options/resolve-campaign.js';
import {
  type ResolvedServiceOptions,
  resolveServiceOptions,
} from '../../lib/options/resolve-service-options.js';
import { DEFAULT_SETTINGS } from '../../lib/options/resolve-settings.js';
import { readPage, tableRows } from './markdown.js';

const EVENTS: Record<LockEvent['type'], true> = {
  acquired: true,
  waiting: true,
  busy: true,
  renewed: true,
  unknown: true,
  lost: true,
  released: true,
  heldLong: true,
};

const OWN_OPTIONS_OF_WITH_LOCK: Record<Exclude<keyof WithLockOptions, keyof LockOptions>, true> = {
  onBusy: true,
  onUnavailable: true,
  returns: true,
  service: true,
};

/** The part of a cell between backquotes. */
const codeOf = (cell: string | undefined): string => /^`(.*)`$/.exec(cell ?? '')?.[1] ?? '';

/** `{ a: { b: 1 } }` for `a.b` and 1. */
const nest = (path: string, value: unknown): object =>
  path.split('.').reduceRight((inner: unknown, name) => ({ [name]: inner }), value) as object;

function resolve(options: object): ResolvedServiceOptions {
  return resolveServiceOptions({ driver, ...options });
}

const driver = new MemoryLockDriver();

describe('the options of the README', () => {
  const ofLocks = tableRows('README.md', 'option');
  const ofTheModule = tableRows('README.md', 'option of the module');

  it('are all there are for locks', () => {
    const names = new Set(ofLocks.map(([name]) => codeOf(name).split('.')[0]));
    const { signal: _signal, ...settings } = DEFAULT_SETTINGS;
    expect(names).toEqual(new Set(Object.keys(settings)));
  });

  it('are all there are for the module', () => {
    const names = ofTheModule.map(([name]) => codeOf(name).split('.')[0]);
    const { defaults, ...own } = resolve({});
    const ownNames = Object.keys(own).filter(
      (name) => name === 'handover' || !Object.hasOwn(defaults, name),
    );
    expect(new Set(names)).toEqual(new Set(ownNames));
  });

  it('are all there are for @WithLock', () => {
    const names = tableRows('README.md', 'option of `@WithLock`').map(([name]) => codeOf(name));
    expect(new Set(names)).toEqual(new Set(Object.keys(OWN_OPTIONS_OF_WITH_LOCK)));
  });

  it.each([...ofLocks, ...ofTheModule].filter(([, value]) => codeOf(value) !== ''))(
    'have the default that is told: %s %s',
    (name, value) => {
      const told = JSON.parse(codeOf(value).replaceAll("'", '"')) as unknown;
      expect(resolve(nest(codeOf(name), told))).toEqual(resolve({}));
    },
  );

  it.each([...ofLocks, ...ofTheModule].filter(([, value]) => value === 'none'))(
    'have none where none is told: %s',
    (name) => {
      const value = Reflect.get(resolve({}), codeOf(name)) as unknown;
      expect([undefined, Infinity]).toContain(value);
    },
  );
});

describe('the options of a campaign', () => {
  const PAGE = 'docs/leader-election.md';
  const rows = tableRows(PAGE, 'option of a campaign');
  const defaults = { node: 'node', ttl: 30_000, clockSkew: 0 };
  const complete = (given: object): CampaignSettings =>
    completeCampaign({ ...NOTHING_GIVEN, ...given }, defaults);

  it('are all there are', () => {
    const names = rows.map(([name]) => codeOf(name));
    expect(new Set(names)).toEqual(new Set(Object.keys(NOTHING_GIVEN)));
  });

  it.each([
    ['nodeId', "the module's `node`", defaults.node],
    ['ttl', "the module's `ttl`", defaults.ttl],
    ['heartbeat', 'a sixth of `ttl`', defaults.ttl / 6],
    ['tokenPeriod', 'a third of `ttl`', defaults.ttl / 3],
    ['reclaim', '`false`', false],
  ] as const)('have the default that is told: %s is %s', (name, told, value) => {
    expect(rows.find(([row]) => codeOf(row) === name)?.[1]).toBe(told);
    expect(complete({})[name]).toBe(value);
  });

  it('are refused with the words that are told', () => {
    const [, told] = /reads like this: ``([^]*?)``/.exec(readPage(PAGE)) ?? [];
    expect(() => complete({ ttl: 2_000, tokenPeriod: 1, heartbeat: 1_000 })).toThrow(
      new LockConfigError(told?.replaceAll('\n', ' ') ?? ''),
    );
  });
});

describe('the errors of the README', () => {
  const classes = Object.entries(lib).filter(
    ([name, value]) => name !== 'LockError' && LockError.isPrototypeOf(value),
  ) as [string, new (details: object) => LockError][];

  it('are all there are, with their codes and statuses', () => {
    const told = tableRows('README.md', 'class').map(([name, code, status]) => [
      codeOf(name),
      codeOf(code),
      Number(status),
    ]);
    const actual = classes.map(([name, ErrorClass]) => {
      const error = new ErrorClass({ keys: ['key'], reason: 'expired', waited: 0 });
      return [name, error.code, error.statusCode];
    });
    expect(new Set(told)).toEqual(new Set(actual));
  });
});

describe('the events of the README', () => {
  it('are all there are', () => {
    const told = tableRows('README.md', 'event').map(([type]) => codeOf(type));
    expect(new Set(told)).toEqual(new Set(Object.keys(EVENTS)));
  });
});
