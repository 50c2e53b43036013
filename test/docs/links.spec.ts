import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pages, readPage, ROOT } from './markdown.js';

const LINK = /\]\((?!\w+:)(?<path>[^)#]*)(?:#(?<anchor>[^)]*))?\)/g;

/** The anchors that GitHub gives the headings of a page. */
function anchorsOf(page: string): readonly string[] {
  return [...readPage(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  );
}

function isBroken(page: string, path: string, anchor: string | undefined): boolean {
  const target = path === '' ? page : join(dirname(page), path);
  return (
    !existsSync(join(ROOT, target)) || (anchor !== undefined && !anchorsOf(target).includes(anchor))
  );
}

describe('the links of the docs', () => {
  it.each(pages())('lead somewhere from %s', (page) => {
    const links = [...readPage(page).matchAll(LINK)];
    const broken = links.filter(({ groups }) =>
      isBroken(page, groups?.['path'] ?? '', groups?.['anchor']),
    );
    expect(broken.map(([link]) => link)).toEqual([]);
  });
});
