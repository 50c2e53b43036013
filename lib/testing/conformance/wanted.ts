import type { TestApi } from '../test-api.js';
import { LONG, SHORT } from './contender.js';
import type { DriverFixture } from './driver-fixture.js';
import { delay } from './wait.js';

/** The mark of those who were denied and will come back. */
export function describeWanted({ it, expect }: TestApi, fixture: DriverFixture): void {
  it('tells a release for how long the lock is wanted', async () => {
    const { alice, bob } = fixture.contenders();
    await alice.granted();
    await bob.denied({ wantFor: LONG });
    const { released, wantedFor } = await alice.release();
    expect(released).toBe(true);
    expect(wantedFor).toBeGreaterThan(LONG / 2);
    expect(wantedFor).toBeLessThanOrEqual(LONG);
  });

  it('keeps the longest of several marks', async () => {
    const { alice, bob, carol } = fixture.contenders();
    await alice.granted();
    await bob.denied({ wantFor: LONG });
    await carol.denied({ wantFor: SHORT });
    await carol.denied();
    expect((await alice.release()).wantedFor).toBeGreaterThan(LONG / 2);
  });

  it('takes a longer mark in place of a shorter one', async () => {
    const { alice, bob, carol } = fixture.contenders();
    await alice.granted();
    await bob.denied({ wantFor: LONG });
    await carol.denied({ wantFor: 3 * LONG });
    expect((await alice.release()).wantedFor).toBeGreaterThan(2 * LONG);
  });

  it('leaves no mark for a try that will not come back', async () => {
    const { alice, bob } = fixture.contenders();
    await alice.granted();
    await bob.denied();
    expect((await alice.release()).wantedFor).toBeUndefined();
  });

  it('leaves no mark for a try that was granted, nor for the holder’s own', async () => {
    const { alice } = fixture.contenders();
    await alice.granted({ wantFor: LONG });
    await alice.granted({ wantFor: LONG });
    expect((await alice.release()).wantedFor).toBeUndefined();
  });

  it('keeps the mark through a renewal', async () => {
    const { alice, bob } = fixture.contenders();
    await alice.granted();
    await bob.denied({ wantFor: LONG });
    await alice.renew({ bumpToken: 1 });
    expect((await alice.release()).wantedFor).toBeGreaterThan(LONG / 2);
  });

  it('clears the mark by the next grant', async () => {
    const { alice, bob, carol } = fixture.contenders();
    await alice.granted();
    await bob.denied({ wantFor: LONG });
    await alice.release();
    await carol.granted();
    expect((await carol.release()).wantedFor).toBeUndefined();
  });

  it('clears the mark by the grant of an expired lock', async () => {
    const { alice, bob, carol } = fixture.contenders();
    await alice.granted();
    await bob.denied({ wantFor: LONG });
    await alice.renew({ ttl: SHORT, shorten: true });
    await carol.grantedAtLast();
    expect((await carol.release()).wantedFor).toBeUndefined();
  });

  it('lets the mark run out', async () => {
    const { alice, bob } = fixture.contenders();
    await alice.granted();
    await bob.denied({ wantFor: SHORT });
    await delay(2 * SHORT);
    expect((await alice.release()).wantedFor).toBeUndefined();
  });
}
