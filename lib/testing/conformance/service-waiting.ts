import type { LockHandle } from '../../interfaces/lock-handle.interface.js';
import type { TestApi } from '../test-api.js';
import { LONG, SHORT } from './contender.js';
import type { ServiceFixture } from './service-fixture.js';
import { delay } from './wait.js';

const PATIENT = { ttl: LONG, wait: Infinity };

/** The `code` of the error that a promise is rejected with. */
async function codeOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error instanceof Error && 'code' in error ? error.code : error;
  }
  return undefined;
}

/** Waiters get the lock when it becomes free, and those who leave leave nothing behind. */
export function describeWaiting({ it, expect }: TestApi, fixture: ServiceFixture): void {
  const becomesFree = (key: string): Promise<boolean> =>
    fixture.poll(`${key} to become free`, async () => (await fixture.driver.inspect(key)) === null);

  it('gives the lock to a waiter of another process after a release', async () => {
    const [first, second] = fixture.services;
    const key = fixture.newKey();
    const held = await first.acquire(key, PATIENT);
    const waiting = second.acquire(key, PATIENT);
    await delay(SHORT);
    expect(await held.release()).toBe(true);
    const next = await waiting;
    expect(next.fencingToken > held.fencingToken).toBe(true);
    await next.release();
    await becomesFree(key);
  });

  it('gives the lock of a process that died to a waiter', async () => {
    const { bob: dead } = fixture.contenders();
    await dead.granted({ ttl: SHORT });
    const lock = await fixture.services[0].acquire(dead.key, PATIENT);
    expect((await dead.renew()).renewed).toBe(false);
    expect(await lock.release()).toBe(true);
  });

  it('gives a retained key to a waiter', async () => {
    const [first, second] = fixture.services;
    const key = fixture.newKey();
    const held = await first.acquire(key, { ttl: LONG, minHold: SHORT });
    const waiting = second.acquire(key, PATIENT);
    await held.release();
    expect(await (await waiting).release()).toBe(true);
  });

  it('leaves nothing locked when a waiter is aborted', async () => {
    const [first, second] = fixture.services;
    const key = fixture.newKey();
    const held = await first.acquire(key, PATIENT);
    const controller = new AbortController();
    const waiting = codeOf(second.acquire(key, { ...PATIENT, signal: controller.signal }));
    await delay(SHORT);
    controller.abort();
    expect(await waiting).toBe('LOCK_ABORTED');
    expect(held.held).toBe(true);
    await held.release();
    await becomesFree(key);
  });

  it('leaves nothing locked when the abort and the grant cross', async () => {
    const [first, second] = fixture.services;
    const key = fixture.newKey();
    for (let round = 0; round < 20; round++) {
      const held = await first.acquire(key, PATIENT);
      const controller = new AbortController();
      const waiting: Promise<LockHandle | undefined> = second
        .acquire(key, { ...PATIENT, signal: controller.signal })
        .catch(() => undefined);
      await delay(Math.random() * 10);
      const released = held.release();
      await delay(Math.random() * 5);
      controller.abort();
      await released;
      await (await waiting)?.release();
      await becomesFree(key);
    }
  });

  it('gives up at once where it shall not wait, and tells who holds', async () => {
    const [first, second] = fixture.services;
    const key = fixture.newKey();
    const held = await first.acquire(key, PATIENT);
    expect(await second.tryAcquire(key)).toBeNull();
    expect(await codeOf(second.acquire(key, { wait: 0 }))).toBe('LOCK_TIMEOUT');
    await held.release();
    const next = await second.tryAcquire(key);
    expect(next?.held).toBe(true);
    await next?.release();
  });

  it('tells a holder whose lock was taken by force', async () => {
    const [first, second] = fixture.services;
    const key = fixture.newKey();
    const held = await first.acquire(key, PATIENT);
    expect(await second.forceRelease(key)).toBe(true);
    expect(await codeOf(held.extend())).toBe('LOCK_LOST');
    expect(held.held).toBe(false);
    expect(held.signal.aborted).toBe(true);
    expect(await held.release()).toBe(false);
  });
}
