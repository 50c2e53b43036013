import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The root of the repository. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A block of TypeScript in a page. */
export interface CodeBlock {
  /** Where it begins: `README.md:42`. */
  readonly place: string;
  readonly page: string;
  /** The line of the page on which its first line stands, from 1. */
  readonly line: number;
  readonly code: string;
  /** What stands before it in a comment `<!-- setup: ... -->`, which readers do not see. */
  readonly setup: string;
}

/** All pages for users, relative to the root. */
export function pages(): readonly string[] {
  const docs = readdirSync(new URL('docs/', `file://${ROOT}`)).filter((name) =>
    name.endsWith('.md'),
  );
  return ['README.md', ...docs.toSorted().map((name) => `docs/${name}`)];
}

export function readPage(page: string): string {
  return readFileSync(`${ROOT}${page}`, 'utf8');
}

const BLOCK = /(?:<!-- setup:\n(?<setup>[^]*?)-->\n)?^```ts\n(?<code>[^]*?)^```$/gm;

export function codeBlocks(page: string): readonly CodeBlock[] {
  const text = readPage(page);
  return [...text.matchAll(BLOCK)].map((match) => {
    const { setup = '', code = '' } = match.groups ?? {};
    const line = text.slice(0, match.index + match[0].indexOf('```ts\n')).split('\n').length + 1;
    return { place: `${page}:${line}`, page, line, code, setup };
  });
}

/** The languages of all blocks that are fenced in any way. */
export function fences(page: string): readonly string[] {
  const lines = readPage(page).matchAll(/^\s*(?:```|~~~)(.*)$/gm);
  return [...lines].map(([, language = '']) => language.trim()).filter((_, i) => i % 2 === 0);
}

/** The rows of the tables whose first heading is this one, a list of cells each. */
export function tableRows(page: string, firstHeading: string): readonly (readonly string[])[] {
  const rows: string[][] = [];
  let inTable = false;
  for (const line of readPage(page).split('\n')) {
    const cells = line.startsWith('|')
      ? line
          .slice(1, -1)
          .split('|')
          .map((cell) => cell.trim())
      : [];
    if (cells.length === 0) {
      inTable = false;
    } else if (cells[0] === firstHeading) {
      inTable = true;
    } else if (inTable && !/^-+$/.test(cells[0] as string)) {
      rows.push(cells);
    }
  }
  return rows;
}
