import type { LockService } from '../../lock.service.js';
import type { LockHandle } from '../../interfaces/lock-handle.interface.js';
import type { TestApi } from '../test-api.js';
import { LONG } from './contender.js';
import type { ServiceFixture } from './service-fixture.js';
import { delay } from './wait.js';

const PATIENT = { ttl: LONG, wait: Infinity };
const WORKERS = 12;
const TURNS = 15;

/** Many workers of two processes under one lock. */
export function describeContention({ it, expect }: TestApi, fixture: ServiceFixture): void {
  const everyWorker = (work: (service: LockService, worker: number) => Promise<void>) =>
    Promise.all(
      Array.from({ length: WORKERS }, (_, worker) =>
        work(fixture.services[worker % 2 === 0 ? 0 : 1], worker),
      ),
    );

  it('lets one in at a time, each with a larger fencing token', async () => {
    const key = fixture.newKey();
    let inside = 0;
    let entered = 0;
    let lastToken = 0n;
    const enter = async (lock: LockHandle): Promise<void> => {
      expect(++inside).toBe(1);
      expect(lock.fencingToken > lastToken).toBe(true);
      lastToken = lock.fencingToken;
      await (Math.random() < 0.5 ? delay(Math.random() * 3) : Promise.resolve());
      inside--;
      entered++;
    };
    await everyWorker(async (service) => {
      for (let turn = 0; turn < TURNS; turn++) {
        await service.withLock(key, PATIENT, enter);
      }
    });
    expect(entered).toBe(WORKERS * TURNS);
    await fixture.poll(
      'the lock to become free',
      async () => (await fixture.driver.inspect(key)) === null,
    );
  });

  it('takes several keys in one order, so that nobody waits for ever', async () => {
    const keys = [fixture.newKey(), fixture.newKey(), fixture.newKey()];
    const inside = new Set<string>();
    let entered = 0;
    await everyWorker(async (service, worker) => {
      const own = keys.filter((_, index) => index !== worker % 3);
      const wanted = worker % 2 ? own : own.toReversed();
      for (let turn = 0; turn < 3; turn++) {
        await service.withLock(wanted, PATIENT, async () => {
          expect(wanted.filter((key) => inside.has(key))).toEqual([]);
          wanted.forEach((key) => inside.add(key));
          await delay(1);
          wanted.forEach((key) => inside.delete(key));
          entered++;
        });
      }
    });
    expect(entered).toBe(WORKERS * 3);
  });

  it('goes on holding a lock for longer than its ttl', async () => {
    const [first, second] = fixture.services;
    const ttl = 6000;
    const key = fixture.newKey();
    let renewals = 0;
    const listening = first.events$.subscribe((event) => {
      renewals += Number(event.type === 'renewed' && event.key === key);
    });
    const sentAt = performance.now();
    const lock = await first.acquire(key, { ttl });
    await fixture.poll('a renewal', () => renewals > 0);
    const remaining = (await fixture.driver.inspect(key))?.remaining ?? 0;
    expect(performance.now() - sentAt + remaining).toBeGreaterThan(ttl + 500);
    expect(lock.held).toBe(true);
    expect(await second.tryAcquire(key)).toBeNull();
    expect(await lock.release()).toBe(true);
    listening.unsubscribe();
  });
}
