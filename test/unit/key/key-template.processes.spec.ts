import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KeyTemplate } from '../../../lib/key/key-template.js';

/** Template, arguments as JSON has them, and the key. A deploy that changed one would run beside the old one, with another lock. */
const VECTORS: readonly (readonly [source: string, args: readonly unknown[], key: string])[] = [
  ['nightly', [], 'nightly'],
  ['order:<0>', ['7'], 'order:7'],
  ['order:{0}', [7], 'order:7'],
  ['order:<0>', [-1.5], 'order:-1.5'],
  ['order:<0>', [1e21], 'order:1e+21'],
  ['flag:<0>', [false], 'flag:false'],
  ['<0.from>/<0.to>', [{ from: 'a/b', to: 'c' }], 'a%2Fb/c'],
  ['<0>:<1>', ['a:b', 'c%3Ad'], 'a%3Ab:c%253Ad'],
  ['<0>', ['{tag}<0>|x'], '%7Btag%7D%3C0%3E%7Cx'],
  ['<0>', [' \t\n\0\u007f\u0085'], '%20%09%0A%00%7F%C2%85'],
  ['<0>', ['\u00a0\u2003\u2028\ufeff'], '%C2%A0%E2%80%83%E2%80%A8%EF%BB%BF'],
  ['<0>', ['\ud800x\udfff'], '%ED%A0%80x%ED%BF%BF'],
  ['<0>', ['Ünï-cødé_😀.ß,İı'], 'Ünï-cødé_😀.ß,İı'],
  ['<0>', ["~!@#$^&*()_+-=[];'\\,.?`"], "~!@#$^&*()_+-=[];'\\,.?`"],
  ['<1.a.b>|<0>', ['x', { a: { b: 'y' } }], 'y|x'],
];

const lib = fileURLToPath(new URL('../../../lib/', import.meta.url));

const CHILD = `
import { KeyTemplate } from './key/key-template.js';
const vectors = JSON.parse(process.argv[2]);
const keys = vectors.map(([source, args]) => new KeyTemplate(source, 'Any.method').resolve(args));
console.log(JSON.stringify(keys));
`;

describe('a key', () => {
  it.each(VECTORS)('of %j with %j is %j, for ever', (source, args, key) => {
    expect(new KeyTemplate(source, 'Any.method').resolve(args)).toBe(key);
  });

  describe('in another process', () => {
    let folder: string;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'keys-'));
      await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
      await writeFile(join(folder, 'child.js'), CHILD);
      for (const part of ['key', 'errors']) {
        await transpile(join(lib, part), join(folder, part));
      }
    });

    afterAll(() => rm(folder, { recursive: true, force: true }));

    it.each([
      { TZ: 'UTC', LC_ALL: 'C' },
      { TZ: 'Pacific/Chatham', LC_ALL: 'tr_TR.UTF-8' },
    ])(
      'is the same, in whatever place it runs: $TZ, $LC_ALL',
      async (place) => {
        const { stdout } = await promisify(execFile)(
          process.execPath,
          [join(folder, 'child.js'), JSON.stringify(VECTORS)],
          { env: { ...process.env, ...place }, timeout: 30_000 },
        );
        expect(JSON.parse(stdout)).toEqual(VECTORS.map(([, , key]) => key));
      },
      40_000,
    );
  });
});

/** What the compiler makes of each file: no build is needed. */
async function transpile(from: string, to: string): Promise<void> {
  await mkdir(to);
  for (const file of await readdir(from)) {
    const { outputText } = ts.transpileModule(await readFile(join(from, file), 'utf8'), {
      compilerOptions: {
        module: ts.ModuleKind.ESNext,
        target: ts.ScriptTarget.ES2023,
        verbatimModuleSyntax: true,
      },
    });
    await writeFile(join(to, file.replace(/ts$/, 'js')), outputText);
  }
}
