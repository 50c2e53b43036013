import type { Grant } from '../../interfaces/lock-driver.interface.js';
import type { TestApi } from '../test-api.js';
import { type Contender, lastToken, LONG, SHORT } from './contender.js';
import type { DriverFixture } from './driver-fixture.js';
import { delay } from './wait.js';

const ASKED = 1000;

/**
 * Fencing tokens are the store's time in microseconds. With `last` of the lock's record a grant ends at
 * `max(now, last + 1)` and has `min(asked, end - last)` tokens: blocks come from the past.
 */
export function describeTokens({ it, expect }: TestApi, fixture: DriverFixture): void {
  const expectBlockAfter = async (last: number, block: Partial<Grant>): Promise<number> => {
    const { firstToken = Number.NaN, tokens = Number.NaN } = block;
    const end = firstToken + tokens - 1;
    expect(Number.isSafeInteger(firstToken)).toBe(true);
    expect(tokens).toBe(Math.min(ASKED, end - last));
    expect(firstToken).toBeGreaterThan(last);
    expect(end).toBeLessThanOrEqual(Math.max((await fixture.serverTime()).latest, last + 1));
    return end;
  };
  const expectNextBlock = async (last: number, contender: Contender): Promise<number> =>
    expectBlockAfter(last, await contender.grantedAtLast({ tokens: ASKED }));

  it('gives a new lock one token, the time of the store', async () => {
    const { alice } = fixture.contenders();
    const before = await fixture.serverTime();
    const grant = await alice.granted({ tokens: ASKED });
    const after = await fixture.serverTime();
    expect(grant.tokens).toBe(1);
    expect(grant.firstToken).toBeGreaterThanOrEqual(before.earliest);
    expect(grant.firstToken).toBeLessThanOrEqual(after.latest);
  });

  it('gives a block out of the time since the last token', async () => {
    const { alice, bob } = fixture.contenders();
    const first = lastToken(await alice.granted());
    await alice.release();
    await delay(5);
    const grant = await bob.granted({ tokens: ASKED });
    expect(grant.tokens).toBe(ASKED);
    await expectBlockAfter(first, grant);
  });

  it('gives no more tokens than were asked for, and one where none were', async () => {
    const { alice, bob, carol } = fixture.contenders();
    await alice.granted();
    await alice.release();
    await delay(5);
    expect((await bob.granted({ tokens: 7 })).tokens).toBe(7);
    await bob.release();
    await delay(5);
    expect((await carol.granted()).tokens).toBe(1);
  });

  it('follows on without a gap or an overlap however fast the lock goes round', async () => {
    const key = fixture.newKey();
    const [first, ...others] = fixture.crowd(40, key);
    let last = lastToken((await first?.granted()) ?? { firstToken: 0, tokens: 1 });
    await first?.release();
    for (const contender of others) {
      last = await expectNextBlock(last, contender);
      await contender.release();
    }
  });

  it('increases across expiry, a forced release and a retained key', async () => {
    const { alice, bob, carol } = fixture.contenders();
    let last = lastToken(await alice.granted({ ttl: SHORT }));
    last = await expectNextBlock(last, bob);
    await fixture.driver.forceRelease(bob.key);
    last = await expectNextBlock(last, carol);
    await carol.release({ retainFor: SHORT });
    await expectNextBlock(last, fixture.contenders(alice.key).alice);
  });

  it('increases for an owner that comes again after its release', async () => {
    const { alice } = fixture.contenders();
    const last = lastToken(await alice.granted());
    await alice.release();
    await expectNextBlock(last, alice);
  });

  it('gives a renewal new tokens where it asks for some', async () => {
    const { alice, bob } = fixture.contenders();
    let last = lastToken(await alice.granted());
    await delay(5);
    const renewal = await alice.renew({ bumpToken: ASKED });
    expect(renewal.renewed).toBe(true);
    last = await expectBlockAfter(last, renewal);
    expect((await alice.inspect())?.fencingToken).toBe(String(last));
    expect(await alice.granted()).toEqual({ firstToken: last, tokens: 1 });
    await alice.release();
    await expectNextBlock(last, bob);
  });

  it('gives every renewal larger ones', async () => {
    const { alice } = fixture.contenders();
    let last = lastToken(await alice.granted());
    for (let round = 0; round < 10; round++) {
      last = await expectBlockAfter(last, await alice.renew({ bumpToken: ASKED }));
    }
  });

  it('leaves the token alone where a renewal asks for none, and where a try is denied', async () => {
    const { alice, bob } = fixture.contenders();
    const last = lastToken(await alice.granted());
    await alice.renew({ ttl: 2 * LONG });
    await bob.denied({ tokens: ASKED });
    await bob.renew({ bumpToken: ASKED });
    expect((await alice.inspect())?.fencingToken).toBe(String(last));
  });

  const { purge } = fixture;
  if (purge !== undefined) {
    it('increases across clean-up', async () => {
      const { alice, bob, carol } = fixture.contenders();
      const first = lastToken(await alice.granted({ tokens: ASKED }));
      await alice.release();
      await purge();
      const second = await bob.granted({ tokens: ASKED });
      expect(second.firstToken).toBeGreaterThan(first);
      await bob.renew({ ttl: SHORT, shorten: true });
      await delay(2 * SHORT);
      await purge();
      const third = await carol.granted({ tokens: ASKED });
      expect(third.firstToken).toBeGreaterThan(lastToken(second));
    });

    it('leaves a held lock alone in clean-up', async () => {
      const { alice, bob } = fixture.contenders();
      const last = lastToken(await alice.granted({ ttl: 100 * LONG }));
      await purge();
      await bob.denied();
      expect((await alice.inspect())?.fencingToken).toBe(String(last));
      expect((await alice.renew()).renewed).toBe(true);
    });
  }
}
