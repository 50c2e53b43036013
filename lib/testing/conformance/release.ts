import type { TestApi } from '../test-api.js';
import { LONG, SHORT } from './contender.js';
import type { DriverFixture } from './driver-fixture.js';
import { CLOCK_GRAIN } from './wait.js';

/** A release is the holder's, counts once, and may keep the key taken for a while. */
export function describeRelease({ it, expect }: TestApi, fixture: DriverFixture): void {
  it('frees the lock', async () => {
    const { alice, bob } = fixture.contenders();
    await alice.granted();
    expect(await alice.release()).toEqual({ released: true });
    expect(await alice.inspect()).toBeNull();
    await bob.granted();
  });

  it('answers the second release with false', async () => {
    const { alice, bob } = fixture.contenders();
    await alice.granted();
    await alice.release();
    expect(await alice.release()).toEqual({ released: false });
    await bob.granted();
    expect(await alice.release()).toEqual({ released: false });
    expect((await bob.inspect())?.owner).toBe(bob.owner);
  });

  it('answers one of many releases with true', async () => {
    const { alice, bob } = fixture.contenders();
    await alice.granted();
    const results = await Promise.all(Array.from({ length: 10 }, () => alice.release()));
    expect(results.filter((result) => result.released)).toHaveLength(1);
    await bob.granted();
  });

  it('works from another process than the one that acquired', async () => {
    const { alice, carol } = fixture.contenders();
    await alice.granted();
    const answer = await fixture.second.release({ key: alice.key, owner: alice.owner });
    expect(answer.released).toBe(true);
    await carol.granted();
  });

  it('keeps the key taken under no owner with retainFor', async () => {
    const { alice, bob } = fixture.contenders();
    await alice.granted({ ttl: 3 * LONG });
    expect(await alice.release({ retainFor: LONG })).toEqual({ released: true });
    const denial = await bob.denied();
    expect(denial.owner ?? '').toBe('');
    if (fixture.canTell('retryAfter')) {
      expect(denial.retryAfter).toBeGreaterThan(LONG / 2);
      expect(denial.retryAfter).toBeLessThanOrEqual(LONG);
    }
    expect((await bob.inspect())?.owner).toBe('');
  });

  it('makes a retained key not even its last owner’s', async () => {
    const { alice } = fixture.contenders();
    await alice.granted();
    await alice.release({ retainFor: LONG });
    await alice.denied();
    expect((await alice.renew()).renewed).toBe(false);
    expect(await alice.release()).toEqual({ released: false });
    expect((await alice.inspect())?.owner).toBe('');
  });

  it('frees a retained key when retainFor is over, and not before', async () => {
    const { alice, bob } = fixture.contenders();
    await alice.granted();
    const sentAt = performance.now();
    await alice.release({ retainFor: SHORT });
    await bob.grantedAtLast();
    expect(performance.now() - sentAt).toBeGreaterThanOrEqual(SHORT - CLOCK_GRAIN);
  });

  it('frees a retained key by force', async () => {
    const { alice, bob } = fixture.contenders();
    await alice.granted();
    await alice.release({ retainFor: LONG });
    await fixture.driver.forceRelease(alice.key);
    await bob.granted();
  });
}
