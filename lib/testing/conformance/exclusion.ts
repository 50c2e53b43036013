import type { TestApi } from '../test-api.js';
import { type Contender, isGrant, LONG } from './contender.js';
import type { DriverFixture } from './driver-fixture.js';
import { delay } from './wait.js';

/** One holder at a time, told apart from all others by its whole owner. */
export function describeExclusion({ it, expect }: TestApi, fixture: DriverFixture): void {
  it('grants a free lock', async () => {
    const { alice } = fixture.contenders();
    const grant = await alice.granted();
    expect(Number.isSafeInteger(grant.firstToken)).toBe(true);
    expect(grant.tokens).toBe(1);
  });

  it('denies a lock that is held, and tells by whom and for how long', async () => {
    const { alice, bob } = fixture.contenders();
    await alice.granted();
    const denial = await bob.denied();
    if (fixture.canTell('owner')) {
      expect(denial.owner).toBe(alice.owner);
    }
    if (fixture.canTell('retryAfter')) {
      expect(denial.retryAfter).toBeGreaterThan(LONG / 2);
      expect(denial.retryAfter).toBeLessThanOrEqual(LONG);
    }
  });

  it('leaves the holder alone when it denies', async () => {
    const { alice, bob } = fixture.contenders();
    await alice.granted();
    const before = await alice.inspect();
    await bob.denied({ ttl: 2 * LONG, tokens: 10, wantFor: 1000 });
    const after = await alice.inspect();
    expect(after?.owner).toBe(alice.owner);
    expect(after?.fencingToken).toBe(before?.fencingToken);
    expect(after?.remaining).toBeLessThanOrEqual(LONG);
  });

  it('grants to one of fifty that ask at once, again and again', async () => {
    const key = fixture.newKey();
    for (let round = 0; round < 5; round++) {
      const crowd = fixture.crowd(50, key);
      const answers = await Promise.all(crowd.map((contender) => contender.acquire()));
      expect(answers.filter((answer) => isGrant(answer))).toHaveLength(1);
      const winner = crowd[answers.findIndex((answer) => isGrant(answer))];
      expect(await winner?.release()).toEqual({ released: true });
    }
  });

  it('lets nobody in while somebody is inside', async () => {
    let inside = 0;
    let entered = 0;
    let lastSeen = 0;
    const enterFiveTimes = async (contender: Contender): Promise<void> => {
      for (let turn = 0; turn < 5; turn++) {
        // Owners are fresh for every contention.
        const next = fixture.contender(contender.driver, contender.key, fixture.newOwner());
        const grant = await next.grantedAtLast();
        expect(++inside).toBe(1);
        expect(grant.firstToken).toBeGreaterThan(lastSeen);
        lastSeen = grant.firstToken;
        await delay(1);
        inside--;
        entered++;
        await next.release();
      }
    };
    await Promise.all(fixture.crowd(6).map(enterFiveTimes));
    expect(entered).toBe(30);
  });

  it('takes owners that look alike for different ones', async () => {
    const key = fixture.newKey();
    const base = `pod-7:41#${'x'.repeat(200)}`;
    const holder = fixture.contender(fixture.driver, key, `${base}a`);
    const alike = [base, `${base}A`, `${base}b`, `${base}ab`, `${base}a `, ` ${base}a`];
    const lookalikes = [
      ...alike,
      `POD${base.slice(3)}a`,
      `pod_7${base.slice(5)}a`,
      'pod-7:41',
      '%',
      '',
    ];
    await holder.granted();
    for (const owner of lookalikes) {
      const lookalike = fixture.contender(fixture.second, key, owner);
      await lookalike.denied();
      expect((await lookalike.renew()).renewed).toBe(false);
      expect((await lookalike.release()).released).toBe(false);
    }
    expect((await holder.renew()).renewed).toBe(true);
    expect((await holder.release()).released).toBe(true);
  });

  it('keeps different keys apart', async () => {
    const first = fixture.contenders();
    const second = fixture.contenders();
    await first.alice.granted();
    await second.bob.granted();
    await second.bob.release();
    await first.bob.denied();
  });
}
