import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LockEvent } from '../../../lib/interfaces/lock-event.interface.js';
import { LockService } from '../../../lib/lock.service.js';
import { TestLockDriver } from '../../../lib/testing/test-lock.driver.js';

let locks: LockService;

beforeEach(() => {
  vi.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  locks = new LockService({ driver: new TestLockDriver(), namespace: 'shop' });
});

afterEach(async () => {
  await locks.onApplicationShutdown();
  vi.restoreAllMocks();
});

describe('events$', () => {
  it('tells what happens to the locks, with their full keys', async () => {
    const seen: LockEvent[] = [];
    locks.events$.subscribe((event) => seen.push(event));
    await locks.withLock('a', () => locks.tryAcquire('b'));
    await locks.tryAcquire('b');
    expect(seen.map(({ type, key }) => `${type} ${key}`)).toEqual([
      'acquired shop:a',
      'acquired shop:b',
      'released shop:a',
      'busy shop:b',
    ]);
  });

  it('tells nothing after it was unsubscribed from', async () => {
    const seen: LockEvent[] = [];
    const subscription = locks.events$.subscribe((event) => seen.push(event));
    subscription.unsubscribe();
    await locks.withLock('a', () => undefined);
    expect(seen).toEqual([]);
  });

  it('makes the engine build events only while somebody listens', async () => {
    const { events } = locks;
    expect(events.observed).toBe(false);
    const subscriptions = [locks.events$.subscribe(), locks.events$.subscribe()];
    expect(events.observed).toBe(true);
    subscriptions.forEach((subscription) => subscription.unsubscribe());
    expect(events.observed).toBe(false);
  });

  it('completes at shutdown, for those who come later too', async () => {
    let completed = 0;
    const complete = (): void => void completed++;
    locks.events$.subscribe({ complete });
    await locks.onApplicationShutdown();
    expect(completed).toBe(1);
    locks.events$.subscribe({ complete });
    expect(completed).toBe(2);
    expect(locks.events.observed).toBe(false);
  });
});
