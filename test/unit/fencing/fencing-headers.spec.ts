import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Logger } from '@nestjs/common';
import { LockConfigError } from '../../../lib/errors/lock-config.error.js';
import { LockLostError } from '../../../lib/errors/lock-lost.error.js';
import { fencingHeaders } from '../../../lib/fencing/fencing-headers.js';
import { LockService } from '../../../lib/lock.service.js';
import { TestLockDriver } from '../../../lib/testing/test-lock.driver.js';

let driver: TestLockDriver;
let locks: LockService;

beforeEach(() => {
  vi.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  driver = new TestLockDriver();
  locks = new LockService(driver);
});

afterEach(async () => {
  await locks.onApplicationShutdown();
  vi.restoreAllMocks();
});

describe('fencingHeaders', () => {
  it('has the token of a handle, as a decimal number', async () => {
    await using lock = await locks.acquire('a');
    expect(fencingHeaders(lock)).toEqual({ 'fencing-token': String(lock.fencingToken) });
  });

  it('has the token of whatever has one, a leadership say', () => {
    expect(fencingHeaders({ fencingToken: 1_800_000_000_000_000n })).toEqual({
      'fencing-token': '1800000000000000',
    });
  });

  it('has the token of the innermost lock that the caller runs under', async () => {
    await locks.withLock('outer', () =>
      locks.withLock('inner', async (inner) => {
        expect(fencingHeaders()).toEqual({ 'fencing-token': String(inner.fencingToken) });
      }),
    );
  });

  it('is refused under no lock', () => {
    expect(() => fencingHeaders()).toThrow(LockConfigError);
    expect(() => fencingHeaders()).toThrow(/under no lock.*give it the handle/);
  });

  it.each([null, {}, 7n, { fencingToken: undefined }])(
    'is refused for what has no token: %o',
    (source) => {
      expect(() => fencingHeaders(source as never)).toThrow(LockConfigError);
      expect(() => fencingHeaders(source as never)).toThrow(
        /has no fencing token.*give it the handle/,
      );
    },
  );

  it('does not take the lock of its caller for a source that is missing by mistake', async () => {
    await locks.withLock('a', async () => {
      expect(() => fencingHeaders(undefined)).toThrow(
        /given undefined, which has no fencing token/,
      );
    });
  });

  it('is refused for a handle that is not held any more', async () => {
    const lock = await locks.acquire('a');
    await lock.release();
    expect(() => fencingHeaders(lock)).toThrow(LockLostError);
  });

  it('is refused when the innermost lock is lost while one further out still runs', async () => {
    let thrown: unknown;
    const working = locks.withLock('outer', () =>
      locks.withLock('inner', async (lock) => {
        driver.lose('inner');
        await lock.extend().catch(() => undefined);
        try {
          fencingHeaders();
        } catch (error) {
          thrown = error;
        }
      }),
    );
    await expect(working).rejects.toThrow(LockLostError);
    expect(thrown).toBeInstanceOf(LockLostError);
  });

  it('is refused with several keys, for which there is no one token', async () => {
    await using lock = await locks.acquire(['a', 'b']);
    expect(() => fencingHeaders(lock)).toThrow(/fencingTokens/);
  });
});
