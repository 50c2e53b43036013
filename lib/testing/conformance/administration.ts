import type { TestApi } from '../test-api.js';
import { lastToken, LONG } from './contender.js';
import type { DriverFixture } from './driver-fixture.js';

/** What a backend may take for more than itself in a prefix. */
const SPECIAL = ['%', '_', '*', '?', '[', ']', '\\', '^', '$', '.', '{', '}', "'"];

/** Looking at locks, and freeing them by force. */
export function describeAdministration({ it, expect }: TestApi, fixture: DriverFixture): void {
  const listKeys = async (prefix: string, limit?: number): Promise<readonly string[]> => {
    const records = await fixture.driver.list({ prefix, limit });
    return records.map((record) => record.key).toSorted();
  };
  const hold = (key: string): Promise<unknown> => fixture.contenders(key).alice.granted();

  it('shows a lock that is held', async () => {
    const { alice, bob } = fixture.contenders();
    await bob.granted();
    await bob.release();
    const grant = await alice.granted({ tokens: 10 });
    const record = await fixture.second.inspect(alice.key);
    expect(record).toEqual({
      key: alice.key,
      owner: alice.owner,
      fencingToken: String(lastToken(grant)),
      remaining: record?.remaining,
    });
    expect(record?.remaining).toBeGreaterThan(LONG / 2);
    expect(record?.remaining).toBeLessThanOrEqual(LONG);
    expect(await fixture.second.list({ prefix: alice.key })).toHaveLength(1);
  });

  it('shows nothing of a lock that is free', async () => {
    const { alice } = fixture.contenders();
    expect(await alice.inspect()).toBeNull();
    await alice.granted();
    await alice.release();
    expect(await alice.inspect()).toBeNull();
    expect(await listKeys(alice.key)).toEqual([]);
  });

  it('lists the locks that are held under a prefix', async () => {
    const prefix = fixture.newKey(':');
    const keys = ['a:1', 'a:2', 'b:1', 'A:1'].map((suffix) => prefix + suffix);
    await Promise.all(keys.map(hold));
    const freed = fixture.contenders(`${prefix}a:3`).alice;
    await freed.granted();
    await freed.release();
    expect(await listKeys(prefix)).toEqual(keys.toSorted());
    expect(await listKeys(`${prefix}a:`)).toEqual([`${prefix}a:1`, `${prefix}a:2`]);
    expect(await listKeys(`${prefix}c:`)).toEqual([]);
    expect(await listKeys(prefix.slice(1))).toEqual([]);
  });

  it('takes every character of a prefix for itself', async () => {
    const prefix = fixture.newKey(':');
    const ends = [...SPECIAL, 'x', 'X'];
    await Promise.all(ends.map((end) => hold(`${prefix}${end}1`)));
    for (const end of ends) {
      expect(await listKeys(prefix + end)).toEqual([`${prefix}${end}1`]);
    }
    expect(await listKeys(`${prefix}[a-z]`)).toEqual([]);
    expect(await listKeys(`${prefix}*1`)).toEqual([`${prefix}*1`]);
  });

  it('lists no more than the limit, which is 100 unless given', async () => {
    const prefix = fixture.newKey(':');
    const keys = Array.from({ length: 101 }, (_, index) => `${prefix}${index}`);
    await Promise.all(keys.map(hold));
    expect(await listKeys(prefix)).toHaveLength(100);
    expect(await listKeys(prefix, 3)).toHaveLength(3);
    expect(await listKeys(prefix, 1000)).toEqual(keys.toSorted());
  });

  it('lists without being told what', async () => {
    await hold(fixture.newKey());
    expect((await fixture.driver.list()).length).toBeGreaterThan(0);
  });

  it('frees a lock by force, whoever holds it', async () => {
    const { alice, bob } = fixture.contenders();
    await alice.granted();
    expect(await fixture.second.forceRelease(alice.key)).toBe(true);
    expect(await alice.inspect()).toBeNull();
    expect((await alice.renew()).renewed).toBe(false);
    expect(await alice.release()).toEqual({ released: false });
    await bob.granted();
    expect((await bob.inspect())?.owner).toBe(bob.owner);
  });

  it('says so where there was nothing to free by force', async () => {
    const { alice } = fixture.contenders();
    expect(await fixture.driver.forceRelease(alice.key)).toBe(false);
    await alice.granted();
    await alice.release();
    expect(await fixture.driver.forceRelease(alice.key)).toBe(false);
  });
}
