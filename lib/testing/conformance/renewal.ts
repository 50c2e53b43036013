import type { RenewRequest } from '../../interfaces/lock-driver.interface.js';
import type { TestApi } from '../test-api.js';
import { type Contender, LONG, renewAll, SHORT } from './contender.js';
import type { DriverFixture } from './driver-fixture.js';

const LARGE_BATCH = 1000;

function lease(
  { key, owner }: Contender,
  more: Partial<Omit<RenewRequest, 'key' | 'owner'>> = {},
): RenewRequest {
  return { key, owner, ttl: LONG, ...more };
}

/** Renewals come in batches, and never shorten unless they say so. */
export function describeRenewal({ it, expect }: TestApi, fixture: DriverFixture): void {
  it('makes a lease longer', async () => {
    const { alice } = fixture.contenders();
    await alice.granted({ ttl: LONG });
    expect((await alice.renew({ ttl: 3 * LONG })).renewed).toBe(true);
    expect(await alice.remaining()).toBeGreaterThan(2 * LONG);
  });

  it('does not make a lease shorter', async () => {
    const { alice } = fixture.contenders();
    await alice.granted({ ttl: LONG });
    expect((await alice.renew({ ttl: SHORT })).renewed).toBe(true);
    expect(await alice.remaining()).toBeGreaterThan(LONG / 2);
  });

  it('makes a lease shorter where that is asked for', async () => {
    const { alice, bob } = fixture.contenders();
    await alice.granted({ ttl: LONG });
    expect((await alice.renew({ ttl: SHORT, shorten: true })).renewed).toBe(true);
    expect(await alice.remaining()).toBeLessThanOrEqual(SHORT);
    await bob.grantedAtLast();
  });

  it('makes a lease longer although it may be shortened', async () => {
    const { alice } = fixture.contenders();
    await alice.granted({ ttl: LONG });
    await alice.renew({ ttl: 3 * LONG, shorten: true });
    expect(await alice.remaining()).toBeGreaterThan(2 * LONG);
  });

  it('renews for the holder alone', async () => {
    const { alice, bob } = fixture.contenders();
    await alice.granted();
    expect((await bob.renew({ ttl: SHORT, shorten: true })).renewed).toBe(false);
    expect((await alice.inspect())?.owner).toBe(alice.owner);
    expect(await alice.remaining()).toBeGreaterThan(LONG / 2);
  });

  it('renews nothing that is free, and takes no lock by it', async () => {
    const { alice, bob, carol } = fixture.contenders();
    expect((await alice.renew()).renewed).toBe(false);
    await bob.granted();
    await bob.release();
    expect((await bob.renew()).renewed).toBe(false);
    await carol.granted();
  });

  it('answers an empty batch with an empty one', async () => {
    expect(await fixture.driver.renew([])).toEqual([]);
  });

  it('answers for held, lost and never held leases in the order of the requests', async () => {
    const [held, lost, other] = [fixture.contenders(), fixture.contenders(), fixture.contenders()];
    const { alice: never } = fixture.contenders();
    await held.alice.granted();
    await lost.alice.granted();
    await fixture.second.forceRelease(lost.alice.key);
    await lost.bob.granted();
    await other.alice.granted();
    const results = await renewAll(fixture.driver, [
      lease(never),
      lease(other.alice, { bumpToken: 2 }),
      lease(lost.alice, { bumpToken: 2 }),
      lease(held.alice, { ttl: 3 * LONG }),
    ]);
    expect(results.map((result) => result.renewed)).toEqual([false, true, false, true]);
    expect(results.map((result) => (result.tokens ?? 0) > 0)).toEqual([false, true, false, false]);
    expect(await held.alice.remaining()).toBeGreaterThan(2 * LONG);
    expect(await other.alice.remaining()).toBeLessThanOrEqual(LONG);
    expect((await lost.bob.inspect())?.owner).toBe(lost.bob.owner);
  });

  it(`renews ${LARGE_BATCH} leases in one go`, async () => {
    const contenders = Array.from({ length: LARGE_BATCH }, () => fixture.contenders().alice);
    const holders = contenders.filter((_, index) => index % 3 !== 1);
    await Promise.all(holders.map((holder) => holder.granted()));
    const results = await renewAll(
      fixture.driver,
      contenders.map((contender) => lease(contender)),
    );
    expect(results.map((result) => result.renewed)).toEqual(
      contenders.map((contender) => holders.includes(contender)),
    );
    const releases = await Promise.all(holders.map((holder) => holder.release()));
    expect(releases.every((result) => result.released)).toBe(true);
  });
}
