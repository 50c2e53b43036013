import { normalizeKey } from '../../key/normalize-key.js';
import type { TestApi } from '../test-api.js';
import type { DriverFixture } from './driver-fixture.js';

const ODD: Readonly<Record<string, string>> = {
  'a blank at the end': ' ',
  quotes: `'"\``,
  'what SQL takes for a comment': `'; DROP TABLE locks; --`,
  'wild cards': '%_*?[a-z]',
  braces: '{}{a}{{b}}',
  'a hash tag of Redis': '{other}',
  'dollar signs': '$1 $a $$NOW $literal',
  dots: '.a..b.',
  backslashes: '\\ \\\\ \\n \\0',
  'line breaks and tabs': '\n\r\n\t',
  'control characters': '\u0001\u001F\u007F',
  'a NUL': 'a\0b',
  'lone surrogates': '\uD800a\uDC00',
  umlauts: 'äöüß',
  'many scripts': 'ключ 鍵 مفتاح',
  'emoji of several code points': '👩‍👩‍👧‍👦🏳️‍🌈',
  'characters without width': '\u200B\uFEFF\u2028',
  'a name of Object.prototype': '__proto__',
};

const LOOKALIKES: Readonly<Record<string, readonly string[]>> = {
  'by case only': ['abc', 'ABC', 'Abc'],
  'by blanks only': ['a', 'a ', ' a', 'a  ', 'a\t'],
  'by the form of their accents only': ['\u00E9', 'e\u0301', 'e'],
  'by width only': ['a', '\uFF41'],
  'by a prefix only': ['a', 'ab', 'abc'],
  'by zeros only': ['1', '01', '1.0'],
  'by characters without width only': ['a', 'a\u200B', 'a\uFEFF'],
  'by a NUL only': ['a', 'a\0', 'a\0b', 'a%00'],
  'by lone surrogates only': ['\uD800', '\uD801', '\uFFFD'],
  'by their end only, far out': [`${'x'.repeat(10_000)}a`, `${'x'.repeat(10_000)}b`],
};

/** Keys are any strings; they come as the engine sends them, without NUL and lone surrogates and at most 512 bytes long. */
export function describeKeys({ it, expect }: TestApi, fixture: DriverFixture): void {
  const expectToWork = async (key: string): Promise<void> => {
    const { alice, bob } = fixture.contenders(key);
    await alice.granted();
    await bob.denied();
    expect((await bob.inspect())?.key).toBe(key);
    expect((await fixture.driver.list({ prefix: key })).map((found) => found.key)).toEqual([key]);
    expect((await alice.renew({ bumpToken: 1 })).renewed).toBe(true);
    expect((await alice.release()).released).toBe(true);
    await bob.granted();
    expect(await fixture.driver.forceRelease(key)).toBe(true);
  };

  for (const [what, odd] of Object.entries(ODD)) {
    it(`takes keys with ${what}`, async () => {
      await expectToWork(fixture.newKey(`:${odd}:end`));
      await expectToWork(fixture.newKey(odd));
    });
  }

  it('takes keys of 10 kB', async () => {
    await expectToWork(fixture.newKey('x'.repeat(10_000)));
    await expectToWork(fixture.newKey('鍵'.repeat(3_333)));
  });

  it('takes a key that is an odd string and nothing else', async () => {
    for (const odd of ['__proto__', 'constructor', '%', '*', ' ']) {
      const { alice } = fixture.contenders(odd);
      const answer = await alice.grantedAtLast({ ttl: 1000 });
      expect(answer.tokens).toBe(1);
      await alice.release();
    }
  });

  for (const [how, suffixes] of Object.entries(LOOKALIKES)) {
    it(`takes keys that differ ${how} for different locks`, async () => {
      const prefix = fixture.newKey(':');
      const keys = suffixes.map((suffix) => normalizeKey(prefix + suffix));
      const holders = keys.map((key) => fixture.contenders(key).alice);
      for (const holder of holders) {
        await holder.granted();
      }
      for (const holder of holders) {
        expect((await holder.inspect())?.owner).toBe(holder.owner);
        expect((await holder.release()).released).toBe(true);
      }
    });
  }
}
