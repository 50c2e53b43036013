import { hostname } from 'node:os';
import { describe, expect, it } from 'vitest';
import { MemoryLockDriver } from '../../../lib/drivers/memory/memory-lock.driver.js';
import { LockConfigError } from '../../../lib/errors/lock-config.error.js';
import type { LockDriver } from '../../../lib/interfaces/lock-driver.interface.js';
import { resolveServiceOptions } from '../../../lib/options/resolve-service-options.js';
import { DEFAULT_SETTINGS } from '../../../lib/options/resolve-settings.js';

const driver = new MemoryLockDriver();
const resolve = (input: unknown): ReturnType<typeof resolveServiceOptions> =>
  resolveServiceOptions(input as LockDriver);

const namespace = (): string => 'tenant';
const mapErrors = (): string => 'mapped';

describe('resolveServiceOptions', () => {
  it('takes a driver alone, and keeps the very instance', () => {
    const resolved = resolve(driver);
    expect(resolved.driver).toBe(driver);
    expect(resolved).toMatchObject({
      name: 'default',
      isGlobal: true,
      namespace: undefined,
      node: `${hostname()}:${process.pid}`,
      drainTimeout: 10_000,
      clockSkew: 0,
      mapErrors: true,
      handover: { enabled: true, maxTime: 100 },
      defaults: DEFAULT_SETTINGS,
    });
  });

  it('takes options, and makes the defaults of all locks from them', () => {
    const resolved = resolve({
      driver,
      name: 'billing',
      isGlobal: false,
      namespace,
      node: 'pod-7',
      drainTimeout: '2s',
      clockSkew: 50,
      mapErrors,
      handover: { maxTime: '20ms' },
      fencing: { retention: '1h' },
      ttl: '10s',
      wait: Infinity,
      autoExtend: false,
      retry: { min: 20 },
      reentrant: false,
      minHold: 1,
      maxHold: '1m',
      maxWaiters: 9,
    });
    expect(resolved).toMatchObject({
      name: 'billing',
      isGlobal: false,
      namespace,
      node: 'pod-7',
      drainTimeout: 2_000,
      clockSkew: 50,
      mapErrors,
      handover: { enabled: true, maxTime: 20 },
      fencing: { retention: 3_600_000 },
    });
    expect(resolved.defaults).toEqual({
      ttl: 10_000,
      wait: Infinity,
      autoExtend: false,
      retry: { min: 20, max: 800, factor: 1.5, jitter: 0.2 },
      reentrant: false,
      minHold: 1,
      maxHold: 60_000,
      maxWaiters: 9,
      handover: true,
      signal: undefined,
    });
  });

  it('switches hand-over off for all locks', () => {
    expect(resolve({ driver, handover: false }).defaults.handover).toBe(false);
    expect(resolve({ driver, handover: true }).handover).toEqual({ enabled: true, maxTime: 100 });
  });

  const unfinished = {
    name: 'mine',
    acquire: () => ({}),
    release: () => ({ released: true }),
    inspect: () => null,
  };
  it.each<[unknown, string, string]>([
    [undefined, '`driver` is undefined;', 'a lock driver, for example new MemoryLockDriver()'],
    [null, '`driver` is null;', 'a lock driver'],
    [
      MemoryLockDriver,
      '`driver` is a function;',
      'a lock driver, for example new MemoryLockDriver()',
    ],
    ['redis://secret', '`driver` is a string;', 'a lock driver'],
    [{}, '`driver` is undefined;', 'a lock driver'],
    [{ ttl: 50 }, '`driver` is undefined;', 'a lock driver'],
    [{ driver: undefined }, '`driver` is undefined;', 'a lock driver'],
    [{ driver: MemoryLockDriver }, '`driver` is a function;', 'a lock driver'],
    [
      { driver: {} },
      '`driver` is a plain object;',
      'it has no acquire(), renew(), release(), inspect(), list(),',
    ],
    [
      unfinished,
      '`driver` is a plain object;',
      'a lock driver, but it has no renew(), list(), forceRelease()',
    ],
    [{ renew: () => [] }, '`driver` is a plain object;', 'it has no acquire(), release(),'],
    [{ driver, ttl: 'abc' }, '`ttl` is "abc";', 'a duration'],
    [
      { driver, ttl: 100, clockSkew: 50 },
      '`ttl` is 100 ms;',
      'more than twice `clockSkew`, which is 50 ms',
    ],
    [{ driver, maxHold: 1, minHold: 2 }, '`maxHold` is 1 ms;', 'at least `minHold`'],
    [{ driver, name: '' }, '`name` is "";', 'a string that is not empty'],
    [{ driver, name: 7 }, '`name` is 7;', 'a string'],
    [{ driver, isGlobal: 'yes' }, '`isGlobal` is "yes";', 'true or false'],
    [{ driver, namespace: '' }, '`namespace` is "";', 'a string that is not empty'],
    [{ driver, namespace: ' ' }, '`namespace` is " ";', 'a string that is not empty'],
    [{ driver, namespace: 'a\0' }, '`namespace` is "a\\u0000";', 'without control characters'],
    [{ driver, namespace: '\ud800' }, '`namespace` is "\\ud800";', 'without control characters'],
    [{ driver, namespace: 7 }, '`namespace` is 7;', 'a string'],
    [{ driver, node: '' }, '`node` is "";', 'a string that is not empty'],
    [{ driver, node: 'pod#7' }, '`node` is "pod#7";', 'without `#`'],
    [{ driver, node: 'a\n' }, '`node` is "a\\n";', 'without control characters'],
    [{ driver, drainTimeout: -1 }, '`drainTimeout` is -1;', 'a finite duration of at least 0'],
    [{ driver, drainTimeout: Infinity }, '`drainTimeout` is Infinity;', 'a finite duration'],
    [{ driver, drainTimeout: 'soon' }, '`drainTimeout` is "soon";', 'a finite duration'],
    [{ driver, clockSkew: Number.NaN }, '`clockSkew` is NaN;', 'a finite duration'],
    [{ driver, mapErrors: 'no' }, '`mapErrors` is "no";', 'true, false or a function'],
    [
      { driver, onBusy: 'skip' },
      '`onBusy` is "skip";',
      "'throw' or a function of the refused call",
    ],
    [{ driver, onBusy: 'skip' }, '`onBusy`', 'what to answer is said at each @WithLock'],
    [{ driver, onUnavailable: 'throw' }, '`onUnavailable` is "throw";', 'must be a function'],
    [{ driver, handover: 'no' }, '`handover` is "no";', 'true, false or { maxTime }'],
    [{ driver, handover: null }, '`handover` is null;', 'an object'],
    [{ driver, handover: { maxTime: -1 } }, '`handover.maxTime` is -1;', 'a finite duration'],
    [{ driver, handover: { max: 1 } }, 'Unknown option `handover.max`;', 'the options are maxTime'],
    [
      { driver, fencing: { retention: '59s' } },
      '`fencing.retention` is "59s";',
      'at least a minute',
    ],
    [{ driver, fencing: { retention: Infinity } }, '`fencing.retention` is Infinity;', 'finite'],
    [{ driver, fencing: { retain: 1 } }, '`fencing.retain`', 'the options are retention'],
    [{ driver, fencing: '7d' }, '`fencing` is "7d";', 'an object'],
    [
      { driver, signal: AbortSignal.abort() },
      'Unknown option `signal`;',
      'the options are driver, name,',
    ],
    [{ driver, tll: 1 }, 'Unknown option `tll`;', 'did you mean `ttl`?'],
    [{ drivr: driver }, 'Unknown option `drivr`;', 'did you mean `driver`?'],
  ])('refuses %o', (input, found, allowed) => {
    expect(() => resolve(input)).toThrow(LockConfigError);
    expect(() => resolve(input)).toThrow(found);
    expect(() => resolve(input)).toThrow(allowed);
  });
});
