import type { TestApi } from '../test-api.js';
import { isGrant, SHORT } from './contender.js';
import type { DriverFixture } from './driver-fixture.js';
import { CLOCK_GRAIN } from './wait.js';

/** A lease lasts for its ttl, and then the lock is anybody's. */
export function describeExpiry({ it, expect }: TestApi, fixture: DriverFixture): void {
  it('grants the lock to another when the ttl is over, and not before', async () => {
    const { alice, bob } = fixture.contenders();
    const sentAt = performance.now();
    await alice.granted({ ttl: SHORT });
    await bob.grantedAtLast();
    expect(performance.now() - sentAt).toBeGreaterThanOrEqual(SHORT - CLOCK_GRAIN);
  });

  it('tells a holder that came too late so, and leaves the new one alone', async () => {
    const { alice, bob } = fixture.contenders();
    await alice.granted({ ttl: SHORT });
    await bob.grantedAtLast();
    expect((await alice.renew({ ttl: SHORT, shorten: true, bumpToken: 5 })).renewed).toBe(false);
    expect(await alice.release()).toEqual({ released: false });
    expect(await alice.release({ retainFor: 1 })).toEqual({ released: false });
    await alice.denied();
    expect((await bob.inspect())?.owner).toBe(bob.owner);
    expect(await bob.release()).toEqual({ released: true });
  });

  it('grants an expired lock to one of fifty that ask at once', async () => {
    const { alice } = fixture.contenders();
    await alice.granted({ ttl: SHORT });
    await fixture.poll('the lease to end', async () => (await alice.inspect()) === null);
    const crowd = fixture.crowd(50, alice.key);
    const answers = await Promise.all(crowd.map((contender) => contender.acquire()));
    expect(answers.filter((answer) => isGrant(answer))).toHaveLength(1);
  });

  it('shows no expired lock, neither alone nor in a list', async () => {
    const { alice } = fixture.contenders();
    await alice.granted({ ttl: SHORT });
    await fixture.poll('the record to go', async () => (await alice.inspect()) === null);
    expect(await alice.driver.list({ prefix: alice.key })).toEqual([]);
  });

  it('lets a new owner renew what it took over', async () => {
    const { alice, bob } = fixture.contenders();
    await alice.granted({ ttl: SHORT });
    await bob.grantedAtLast();
    expect((await bob.renew()).renewed).toBe(true);
  });
}
