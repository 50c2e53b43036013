import { beforeAll, describe, expect, inject, it } from 'vitest';
import { compileLines } from './compile-lines.js';

/** A decorator, the member it stands on, and what the compiler must say of it; nothing, if it must compile. */
type Case = readonly [decorator: string, member: string, error?: string];

/** By what they are about. */
export type Cases = Readonly<Record<string, readonly Case[]>>;

/** A block, so that each line has a class of its own. */
const lineOf = (decorator: string, member: string): string =>
  `{ class C { ${decorator} ${member} { throw new Error(); } } }`;

/** The compiler reads all of Nest. */
const PATIENCE = 120_000;

/** Declares a test for each case; all are compiled together. */
export function describeCases(what: string, setup: string, all: Cases): void {
  describe(`${what} at compile time:`, () => {
    const complaints = new Map<string, string>();

    beforeAll(() => {
      const lines = Object.values(all)
        .flat()
        .map(([decorator, member]) => lineOf(decorator, member));
      compileLines(setup, lines, inject('nest')).forEach((text, i) =>
        complaints.set(lines[i]!, text),
      );
    }, PATIENCE);

    describe.each(Object.entries(all))('%s', (_, cases) => {
      const fine = cases.flatMap(([decorator, member, error]) =>
        error === undefined ? [[decorator, member] as const] : [],
      );
      const wrong = cases.flatMap(([decorator, member, error]) =>
        error === undefined ? [] : [[decorator, member, error] as const],
      );

      it.each(fine)('%s %s compiles', (decorator, member) => {
        expect(complaints.get(lineOf(decorator, member))).toBe('');
      });

      it.each(wrong)('%s %s does not, and the compiler says: %s', (decorator, member, error) => {
        expect(complaints.get(lineOf(decorator, member))).toContain(error);
      });
    });
  });
}
