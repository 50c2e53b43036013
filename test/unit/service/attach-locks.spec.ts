import { describe, expect, it } from 'vitest';
import { attachLockService, lockServiceOf } from '../../../lib/decorators/service-slot.js';
import { LockService } from '../../../lib/lock.service.js';
import { attachLocks } from '../../../lib/testing/attach-locks.js';
import { TestLockDriver } from '../../../lib/testing/test-lock.driver.js';

const newService = (): LockService => new LockService(new TestLockDriver());

describe('attachLocks', () => {
  it('gives an object a service of its own, which works', async () => {
    const instance = {};
    const locks = attachLocks(instance);
    expect(lockServiceOf(instance, 'default')).toBe(locks);
    expect(attachLocks({})).not.toBe(locks);
    await expect(locks.withLock('a', () => 1)).resolves.toBe(1);
  });

  it('takes a service, and a name', () => {
    const instance = Object.freeze({});
    const [locks, billing] = [newService(), newService()];
    expect(attachLocks(instance, locks)).toBe(locks);
    expect(attachLocks(instance, billing, 'billing')).toBe(billing);
    expect(lockServiceOf(instance, 'default')).toBe(locks);
    expect(lockServiceOf(instance, 'billing')).toBe(billing);
  });
});

describe('the service slot', () => {
  it('keeps the services of different objects apart', () => {
    const [one, other] = [{}, {}];
    attachLockService(one, 'default', newService());
    expect(lockServiceOf(other, 'default')).toBeUndefined();
    expect(lockServiceOf(one, 'billing')).toBeUndefined();
  });

  it('takes the service that was attached last', () => {
    const instance = {};
    const replacement = newService();
    attachLockService(instance, 'default', newService());
    attachLockService(instance, 'default', replacement);
    expect(lockServiceOf(instance, 'default')).toBe(replacement);
  });
});
