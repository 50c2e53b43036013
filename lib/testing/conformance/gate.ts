import type { Admission, LockDriver } from '../../interfaces/lock-driver.interface.js';
import type { TestApi } from '../test-api.js';
import type { DriverFixture } from './driver-fixture.js';
import { delay } from './wait.js';

const SECOND = 1000;
const HOUR = 3600 * SECOND;
/** Tokens are microseconds. */
const MICROSECONDS = 1000;
const ADMITTED: Admission = { admitted: true };

/** Resources that are easily taken for one another, or for something else than a name. */
const ODD_RESOURCES = ['a', 'A', 'á', ' a', '$a', '$$NOW', "'; --", '"', '\\', '{a}', 'a.b', '*'];

/** The fencing gate: a resource lets no token through that is older than one it has seen. */
export function describeGate({ it, expect }: TestApi, fixture: DriverFixture): void {
  if (!fixture.hasGate) {
    it('is not there', async () => {
      expect('admitToken' in fixture.driver).toBe(false);
    });
    return;
  }

  const admit = async (
    resource: string,
    token: number,
    { retention = HOUR, by = fixture.driver }: { retention?: number; by?: LockDriver } = {},
  ): Promise<Admission | undefined> => by.admitToken?.({ resource, token, retention });

  /** A token from so many milliseconds ago; from the future if that is below 0. */
  const tokenOf = async (ago: number): Promise<number> =>
    Math.floor((await fixture.serverTime()).earliest) - ago * MICROSECONDS;

  it('admits a token as often as it comes', async () => {
    const resource = fixture.newKey();
    const token = await tokenOf(SECOND);
    expect(await admit(resource, token)).toEqual(ADMITTED);
    expect(await admit(resource, token, { by: fixture.second })).toEqual(ADMITTED);
    expect(await admit(resource, token)).toEqual(ADMITTED);
  });

  it('refuses an older token, and tells the newest', async () => {
    const resource = fixture.newKey();
    const newest = await tokenOf(SECOND);
    expect(await admit(resource, newest - 1)).toEqual(ADMITTED);
    expect(await admit(resource, newest, { by: fixture.second })).toEqual(ADMITTED);
    const refused = { admitted: false, rule: 'older', newest };
    expect(await admit(resource, newest - 1)).toEqual(refused);
    expect(await admit(resource, newest - 1, { by: fixture.second })).toEqual(refused);
    expect(await admit(resource, 1)).toEqual(refused);
    expect(await admit(resource, newest)).toEqual(ADMITTED);
  });

  it('admits a token by which a lock is held', async () => {
    const { alice } = fixture.contenders();
    const { firstToken } = await alice.granted();
    expect(await admit(fixture.newKey(), firstToken)).toEqual(ADMITTED);
  });

  it('keeps resources apart that look alike, whatever their characters', async () => {
    const prefix = fixture.newKey();
    const token = await tokenOf(SECOND);
    for (const [index, name] of ODD_RESOURCES.entries()) {
      expect(await admit(prefix + name, token - index)).toEqual(ADMITTED);
    }
    for (const [index, name] of ODD_RESOURCES.entries()) {
      expect(await admit(prefix + name, token - index - 1)).toEqual({
        admitted: false,
        rule: 'older',
        newest: token - index,
      });
    }
  });

  it('keeps resources apart from locks of the same name', async () => {
    const { alice } = fixture.contenders();
    const token = await tokenOf(SECOND);
    await alice.granted();
    expect(await admit(alice.key, token)).toEqual(ADMITTED);
    expect((await alice.release()).released).toBe(true);
    expect(await admit(alice.key, token - 1)).toEqual({
      admitted: false,
      rule: 'older',
      newest: token,
    });
  });

  it('refuses a token that is more than a minute ahead of the clock, which bars nobody', async () => {
    const resource = fixture.newKey();
    const forged = [await tokenOf(-90 * SECOND), Number.MAX_SAFE_INTEGER];
    for (const token of forged) {
      expect(await admit(resource, token)).toEqual({ admitted: false, rule: 'ahead' });
    }
    const token = await tokenOf(SECOND);
    expect(await admit(resource, token)).toEqual(ADMITTED);
    for (const other of forged) {
      expect(await admit(resource, other)).toEqual({
        admitted: false,
        rule: 'ahead',
        newest: token,
      });
    }
    expect(await admit(resource, token)).toEqual(ADMITTED);
  });

  it('admits a token that is no further ahead than clocks differ', async () => {
    const resource = fixture.newKey();
    const token = await tokenOf(-30 * SECOND);
    expect(await admit(resource, token)).toEqual(ADMITTED);
    expect((await admit(resource, await tokenOf(0)))?.admitted).toBe(false);
  });

  it('refuses a token from before its memory where it remembers none, and remembers nothing by that', async () => {
    const resource = fixture.newKey();
    const token = await tokenOf(HOUR + 10 * SECOND);
    const forgotten = { admitted: false, rule: 'forgotten' };
    expect(await admit(resource, token)).toEqual(forgotten);
    expect(await admit(resource, token)).toEqual(forgotten);
    expect(await admit(resource, token - 1, { retention: 2 * HOUR })).toEqual(ADMITTED);
  });

  it('admits a token from before its memory where it does remember', async () => {
    const resource = fixture.newKey();
    const token = await tokenOf(HOUR + 10 * SECOND);
    expect(await admit(resource, token, { retention: 2 * HOUR })).toEqual(ADMITTED);
    expect(await admit(resource, token)).toEqual(ADMITTED);
    expect(await admit(resource, token + 1)).toEqual(ADMITTED);
    expect(await admit(resource, token)).toEqual({
      admitted: false,
      rule: 'older',
      newest: token + 1,
    });
  });

  it('remembers for longer than the retention, so that what it forgets is refused', async () => {
    const resource = fixture.newKey();
    const retention = 50;
    // So far ahead that it is no token from before the retention, however busy the machine is.
    const newest = await tokenOf(-30 * SECOND);
    expect(await admit(resource, newest, { retention })).toEqual(ADMITTED);
    await delay(3 * retention);
    expect(await admit(resource, newest - 1, { retention })).toEqual({
      admitted: false,
      rule: 'older',
      newest,
    });
  });

  it('admits the newest of many that come at once, to a resource that nobody has seen', async () => {
    for (let round = 0; round < 10; round++) {
      const resource = fixture.newKey();
      const newest = await tokenOf(SECOND);
      const tokens = Array.from({ length: 40 }, (_, index) => newest - ((index * 27) % 40));
      const answers = await Promise.all(
        tokens.map((token, index) =>
          admit(resource, token, { by: index % 2 ? fixture.second : fixture.driver }),
        ),
      );
      expect(answers[tokens.indexOf(newest)]).toEqual(ADMITTED);
      expect(await admit(resource, newest - 1)).toEqual({
        admitted: false,
        rule: 'older',
        newest,
      });
    }
  });
}
