import { beforeAll, describe, expect, it } from 'vitest';
import { compile, type Complaints } from './compile.js';
import { type CodeBlock, codeBlocks, fences, pages } from './markdown.js';

/** The compiler reads all of Nest. */
const PATIENCE = 120_000;

const blocks = pages().flatMap((page) => codeBlocks(page));

const wrong: CodeBlock = {
  place: 'wrong.md:7',
  page: 'wrong.md',
  line: 7,
  setup: `import type { LockService } from 'nestjs-distributed-lock';\ndeclare const locks: LockService;\n`,
  code: `await locks.acquire('key');\nawait locks.acquier('key');\n`,
};

describe('the TypeScript of the docs', () => {
  let complaints: Complaints;

  beforeAll(() => {
    complaints = compile([...blocks, wrong]);
  }, PATIENCE);

  it.each(blocks)(
    'compiles at $place',
    (block) => {
      expect(complaints(block)).toEqual([]);
    },
    PATIENCE,
  );

  it(
    'would be told where it names what does not exist',
    () => {
      expect(complaints(wrong)).toEqual([expect.stringMatching(/^wrong\.md:8 .*acquier/)]);
    },
    PATIENCE,
  );

  it.each(pages())('is all there is to compile in %s', (page) => {
    const languages = fences(page);
    expect(languages.filter((language) => language === 'ts')).toHaveLength(codeBlocks(page).length);
    expect(languages.filter((language) => !['ts', 'sh', 'sql'].includes(language))).toEqual([]);
  });
});
