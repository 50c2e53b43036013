import type { TestApi } from '../test-api.js';
import { isGrant, lastToken, LONG } from './contender.js';
import type { DriverFixture } from './driver-fixture.js';
import { delay } from './wait.js';

/** Clients resend, and releases overtake: a request that arrives twice or out of order does no harm. */
export function describeResending({ it, expect }: TestApi, fixture: DriverFixture): void {
  it("grants to the owner that holds already, with its block's last token alone", async () => {
    const { alice, bob } = fixture.contenders();
    await bob.granted();
    await bob.release();
    await delay(5);
    const grant = await alice.granted({ tokens: 100 });
    expect(grant.tokens).toBeGreaterThan(1);
    await delay(5);
    const again = await alice.granted({ tokens: 100 });
    expect(again).toEqual({ firstToken: lastToken(grant), tokens: 1 });
    await bob.denied();
  });

  it('gives a lease that is asked for again the ttl of the second request', async () => {
    const { alice } = fixture.contenders();
    await alice.granted({ ttl: LONG });
    await alice.granted({ ttl: 3 * LONG });
    expect(await alice.remaining()).toBeGreaterThan(2 * LONG);
  });

  it('grants both of two requests of one owner that arrive together, and one release ends both', async () => {
    const { alice, bob } = fixture.contenders();
    const [one, other] = await Promise.all([alice.acquire(), alice.acquire()]);
    expect(isGrant(one) && isGrant(other)).toBe(true);
    expect((await alice.release()).released).toBe(true);
    await bob.granted();
  });

  it('denies an owner that was released while another holds the lock', async () => {
    const { alice, bob } = fixture.contenders();
    await alice.granted();
    await alice.release();
    await bob.granted();
    await alice.denied();
  });

  it('answers a release by one who never held with false, and harms nobody', async () => {
    const { alice, bob, carol } = fixture.contenders();
    expect(await carol.release()).toEqual({ released: false });
    await alice.granted();
    expect(await bob.release({ retainFor: LONG })).toEqual({ released: false });
    expect((await alice.inspect())?.owner).toBe(alice.owner);
    expect((await alice.renew()).renewed).toBe(true);
  });

  it('grants to an owner whose release has come before its request', async () => {
    const { alice, bob } = fixture.contenders();
    expect(await alice.release()).toEqual({ released: false });
    await alice.granted();
    expect(await alice.release()).toEqual({ released: true });
    await bob.granted();
  });
}
