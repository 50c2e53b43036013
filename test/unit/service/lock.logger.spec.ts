import { Logger } from '@nestjs/common';
import {
  afterEach,
  beforeEach,
  describe,
  expect,
  it,
  type Mock,
  type MockInstance,
  vi,
} from 'vitest';
import { LockClosedError } from '../../../lib/errors/lock-closed.error.js';
import { LockLostError, type LockLostReason } from '../../../lib/errors/lock-lost.error.js';
import type { LockEvent } from '../../../lib/interfaces/lock-event.interface.js';
import { LockLogger } from '../../../lib/lock.logger.js';
import { LockService } from '../../../lib/lock.service.js';
import { TestLockDriver } from '../../../lib/testing/test-lock.driver.js';

const at = { key: 'order:7', owner: 'pod-7:41#k3x9' };
let warn: MockInstance<Logger['warn']>;
let error: MockInstance<Logger['error']>;

beforeEach(() => {
  warn = vi.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
  error = vi.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
});

afterEach(() => {
  vi.restoreAllMocks();
});

const recorder = (): Mock<(...args: unknown[]) => void> => vi.fn<(...args: unknown[]) => void>();

function logged(event: LockEvent): { warnings: unknown[]; errors: unknown[] } {
  new LockLogger('LockService', 'redis').report(event);
  return { warnings: warn.mock.calls.flat(), errors: error.mock.calls.flat() };
}

describe('LockLogger', () => {
  it.each<[LockLostReason, RegExp]>([
    ['expired', /no renewal was confirmed.*Check the backend and the network.*blocked event loop/],
    ['taken', /not ours any more.*force-released it, or whether the backend failed over/],
    ['maxHold', /longer than maxHold.*The work hangs, or maxHold is too short/],
    ['forced', /force-released in this process.*forceRelease\(\)/],
    ['stopped', /shut down.*raise drainTimeout/],
  ])('reports a lock lost because it is %s as an error, with where to look', (reason, message) => {
    const lost = new LockLostError({ keys: [at.key], reason });
    const { errors, warnings } = logged({ type: 'lost', ...at, error: lost });
    expect(errors).toEqual([expect.stringMatching(message)]);
    expect(errors).toEqual([
      expect.stringMatching(/^The lock order:7 is lost: .*runs on without protection/),
    ]);
    expect(warnings).toEqual([]);
  });

  it('reports a loss of another kind by its message', () => {
    const { errors } = logged({ type: 'lost', ...at, error: new LockClosedError('gone') });
    expect(errors).toEqual([expect.stringMatching(/^gone\. /)]);
  });

  it('warns of a renewal that failed, and says how much time is left', () => {
    const cause = new Error('ETIMEDOUT');
    const { warnings } = logged({
      type: 'unknown',
      ...at,
      during: 'renew',
      cause,
      remaining: 12_000,
    });
    expect(warnings).toEqual([
      'Renewing order:7 failed: ETIMEDOUT. It is tried again; unless a renewal gets through, the lock is lost in 12 s. Check redis.',
    ]);
  });

  it('warns of a release that failed, and says what follows', () => {
    const { warnings } = logged({
      type: 'unknown',
      ...at,
      during: 'release',
      cause: 'no answer',
      remaining: 0,
    });
    expect(warnings).toEqual([
      'Releasing order:7 failed: no answer. It is tried again; at the latest the lock is free when its ttl ends, and others wait until then. Check redis.',
    ]);
  });

  it('warns of a lock that is held for long', () => {
    const { warnings } = logged({ type: 'heldLong', ...at, held: 300_000 });
    expect(warnings).toEqual([
      expect.stringMatching(/^order:7 has been held for 300 s by pod-7:41, .*Set maxHold/),
    ]);
  });

  it('is silent about everyday business', () => {
    const everyday: LockEvent[] = [
      { type: 'acquired', ...at, fencingToken: '1', waited: 0 },
      { type: 'waiting', key: at.key, waiters: 1 },
      { type: 'busy', key: at.key, waited: 0 },
      { type: 'renewed', ...at },
      { type: 'released', ...at, held: 1, handedOver: false },
    ];
    for (const event of everyday) {
      expect(logged(event)).toEqual({ warnings: [], errors: [] });
    }
  });
});

describe('the log of a service', () => {
  it.each([
    [undefined, 'LockService'],
    ['billing', 'LockService(billing)'],
  ])('of the name %s is under %s', async (name, context) => {
    vi.restoreAllMocks();
    const logger = { log: recorder(), warn: recorder(), error: recorder() };
    Logger.overrideLogger(logger);
    const locks = new LockService({ driver: new TestLockDriver(), name });
    await locks.acquire('order:7');
    await locks.forceRelease('order:7');
    Logger.overrideLogger(['fatal', 'error', 'warn', 'log']);
    const [message, ...rest] = logger.error.mock.lastCall ?? [];
    expect(message).toMatch(/^The lock order:7 is lost/);
    expect(rest.at(-1)).toBe(context);
    await locks.onApplicationShutdown();
  });

  it('tells of a release that failed', async () => {
    const driver = new TestLockDriver();
    const locks = new LockService(driver);
    const lock = await locks.acquire('order:7');
    driver.failNext(1, { on: 'release', error: new Error('ECONNRESET') });
    await lock.release();
    expect(warn).toHaveBeenCalledWith(
      expect.stringMatching(/^Releasing order:7 failed: ECONNRESET/),
    );
    await locks.onApplicationShutdown();
  });

  it('tells of a renewal that failed', async () => {
    const driver = new TestLockDriver();
    const locks = new LockService({ driver, ttl: 300 });
    driver.failNext(1, { on: 'renew', error: new Error('ECONNRESET') });
    await using _ = await locks.acquire('order:7');
    await vi.waitFor(() =>
      expect(warn).toHaveBeenCalledWith(
        expect.stringMatching(/^Renewing order:7 failed: ECONNRESET/),
      ),
    );
  });
});
