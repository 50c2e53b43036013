import type { TestApi } from '../test-api.js';
import type { DriverFixture } from './driver-fixture.js';

/** Drivers start twice, start together, and end without taking others along. */
export function describeLifecycle({ it, expect }: TestApi, fixture: DriverFixture): void {
  it('has a name', async () => {
    expect(fixture.driver.name).not.toBe('');
  });

  it('connects twice, and from many drivers at once, without harm to what is held', async () => {
    const { alice, bob } = fixture.contenders();
    await alice.granted();
    const newcomers = await Promise.all(Array.from({ length: 5 }, () => fixture.create()));
    await Promise.all(newcomers.map(async (driver) => driver.connect?.()));
    await fixture.driver.connect?.();
    await bob.denied();
    expect((await alice.renew()).renewed).toBe(true);
    await Promise.all(newcomers.map((driver) => fixture.dispose(driver)));
  });

  it('closes twice, and leaves other drivers on the store alone', async () => {
    const { alice } = fixture.contenders();
    await alice.granted();
    const other = await fixture.create();
    const lease = { key: fixture.newKey(), owner: fixture.newOwner() };
    await other.acquire({ ...lease, ttl: 1000 });
    await other.release(lease);
    await other.close?.();
    await other.close?.();
    await fixture.dispose(other);
    expect((await alice.renew()).renewed).toBe(true);
    expect((await alice.release()).released).toBe(true);
  });
}
