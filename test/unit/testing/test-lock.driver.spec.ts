import { beforeEach, describe, expect, it, vi } from 'vitest';
import { TestLockDriver } from '../../../lib/testing/test-lock.driver.js';

let driver: TestLockDriver;

const acquire = (owner = 'a', key = 'k') => driver.acquire({ key, owner, ttl: 60_000 });
const renew = (owner = 'a') => driver.renew([{ key: 'k', owner, ttl: 60_000 }]);
const release = (owner = 'a') => driver.release({ key: 'k', owner });
const admit = (ago: number) =>
  driver.admitToken({ resource: 'r', token: Date.now() * 1000 - ago, retention: 60_000 });
const GRANTED = expect.objectContaining({ tokens: 1 }) as unknown;

beforeEach(() => {
  driver = new TestLockDriver();
});

describe('TestLockDriver', () => {
  it('is a memory driver as long as nothing is scripted', () => {
    expect(acquire('a')).toEqual(GRANTED);
    expect(acquire('b')).toMatchObject({ owner: 'a' });
    expect(renew('a')).toEqual([{ renewed: true }]);
    expect(driver.inspect('k')).toMatchObject({ owner: 'a' });
    expect(driver.list({ prefix: 'k' })).toHaveLength(1);
    expect(release('a')).toEqual({ released: true });
    expect(driver.forceRelease('k')).toBe(false);
  });

  it('takes its time from an injected clock', () => {
    let now = 1_800_000_000_000;
    driver = new TestLockDriver({ now: () => now });
    acquire('a');
    now += 60_000;
    expect(acquire('b')).toEqual({ firstToken: now * 1000, tokens: 1 });
  });

  describe('busyNext', () => {
    it('denies the next request, and no other', () => {
      driver.busyNext();
      expect(acquire()).toEqual({});
      expect(driver.inspect('k')).toBeNull();
      expect(acquire()).toEqual(GRANTED);
    });

    it('denies as many as it is told to, with the denial it is given', () => {
      const denial = { owner: 'pod-7:41#x', retryAfter: 5 };
      driver.busyNext(2, denial);
      expect([acquire(), acquire(), acquire()]).toEqual([denial, denial, GRANTED]);
    });

    it('denies none when told to deny none', () => {
      driver.busyNext(0);
      expect(acquire()).toEqual(GRANTED);
    });

    it('denies for ever when told so', () => {
      driver.busyNext(Infinity);
      expect(Array.from({ length: 100 }, () => acquire())).toEqual(
        Array.from({ length: 100 }, () => ({})),
      );
    });
  });

  describe('failNext', () => {
    it('rejects the next request for a lock, and takes none by it', async () => {
      driver.failNext();
      await expect(acquire()).rejects.toThrow('The test makes acquire fail');
      expect(driver.inspect('k')).toBeNull();
      expect(acquire()).toEqual(GRANTED);
    });

    it('rejects as many as it is told to, with the error it is given', async () => {
      const error = new Error('connection refused');
      driver.failNext(2, { error });
      await expect(acquire()).rejects.toBe(error);
      await expect(acquire()).rejects.toBe(error);
      expect(acquire()).toEqual(GRANTED);
    });

    it('rejects renewals or releases instead', async () => {
      driver.failNext(1, { on: 'renew' });
      driver.failNext(1, { on: 'release' });
      expect(acquire()).toEqual(GRANTED);
      await expect(renew()).rejects.toThrow('The test makes renew fail');
      await expect(release()).rejects.toThrow('The test makes release fail');
      expect(renew()).toEqual([{ renewed: true }]);
      expect(release()).toEqual({ released: true });
    });

    it('rejects tokens at the gate instead, and remembers none by it', async () => {
      driver.failNext(1, { on: 'admitToken' });
      await expect(admit(1)).rejects.toThrow('The test makes admitToken fail');
      expect(admit(1)).toEqual({ admitted: true });
    });

    it('keeps to the order in which failures and denials were asked for', async () => {
      driver.busyNext();
      driver.failNext();
      driver.busyNext();
      expect(acquire()).toEqual({});
      await expect(acquire()).rejects.toThrow(Error);
      expect(acquire()).toEqual({});
      expect(acquire()).toEqual(GRANTED);
    });
  });

  describe('lose', () => {
    it('takes the lock from its holder', () => {
      acquire('a');
      driver.lose('k');
      expect(renew('a')).toEqual([{ renewed: false }]);
      expect(release('a')).toEqual({ released: false });
    });

    it('lets another have it, with a larger token', () => {
      const lost = acquire('a');
      driver.lose('k');
      const taken = acquire('b');
      expect(
        'firstToken' in taken && 'firstToken' in lost && taken.firstToken > lost.firstToken,
      ).toBe(true);
    });

    it('wakes those who wait', () => {
      const listener = vi.fn<() => void>();
      acquire('a');
      driver.onReleased('k', listener);
      driver.lose('k');
      expect(listener).toHaveBeenCalledTimes(1);
    });

    it('throws where nobody holds the lock, and tells what is held', () => {
      expect(() => driver.lose('k')).toThrow('Nobody holds k, so it cannot be lost; held: -');
      acquire('a', 'app:k');
      expect(() => driver.lose('k')).toThrow('held: app:k');
    });
  });

  describe('reset', () => {
    it('frees all locks', () => {
      for (let count = 0; count < 200; count++) {
        acquire('a', `k:${count}`);
      }
      driver.reset();
      expect(driver.list()).toEqual([]);
      expect(driver.inspect('k:7')).toBeNull();
    });

    it('frees keys that are only kept taken', () => {
      acquire();
      void driver.release({ key: 'k', owner: 'a', retainFor: 60_000 });
      driver.reset();
      expect(acquire('b')).toEqual(GRANTED);
    });

    it('forgets what the gate has seen', () => {
      const seconds = 1_000_000;
      expect(admit(seconds)).toEqual({ admitted: true });
      expect(admit(2 * seconds)).toMatchObject({ rule: 'older' });
      driver.reset();
      expect(admit(2 * seconds)).toEqual({ admitted: true });
    });

    it('forgets what was scripted and recorded', () => {
      driver.busyNext(3);
      driver.failNext(3);
      driver.failNext(3, { on: 'renew' });
      driver.failNext(3, { on: 'release' });
      void acquire();
      driver.reset();
      expect(driver.calls).toEqual([]);
      expect(acquire()).toEqual(GRANTED);
      expect(renew()).toEqual([{ renewed: true }]);
      expect(release()).toEqual({ released: true });
    });
  });

  it('records tokens that come to the gate', () => {
    void driver.admitToken({ resource: 'r', token: 7, retention: 60_000 });
    expect(driver.calls).toEqual([
      { operation: 'admitToken', request: { resource: 'r', token: 7, retention: 60_000 } },
    ]);
  });

  it('records all requests in order, scripted ones included', () => {
    driver.busyNext();
    void acquire();
    void acquire();
    void renew();
    void release();
    expect(driver.calls).toEqual([
      { operation: 'acquire', request: { key: 'k', owner: 'a', ttl: 60_000 } },
      { operation: 'acquire', request: { key: 'k', owner: 'a', ttl: 60_000 } },
      { operation: 'renew', request: [{ key: 'k', owner: 'a', ttl: 60_000 }] },
      { operation: 'release', request: { key: 'k', owner: 'a' } },
    ]);
  });
});
