import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { complaintsAbout, gapsBetween, type Term } from '../../support/leader/judge.js';
import { TermLog } from '../../support/leader/term-log.js';

function term(candidate: string, [since, until]: [number, number], tokens: [number, number]): Term {
  return {
    candidate,
    since: BigInt(since),
    until: BigInt(until),
    firstToken: BigInt(tokens[0]),
    lastToken: BigInt(tokens[1]),
    looks: 2n,
    falls: 0n,
  };
}

describe('the judge of terms', () => {
  const first = term('a', [100, 200], [1, 3]);

  it('has nothing against terms that follow each other with rising tokens', () => {
    const terms = [term('b', [201, 300], [4, 4]), first, term('a', [301, 400], [5, 9])];
    expect(complaintsAbout(terms)).toEqual([]);
  });

  it('finds a leader that still leads when the next one does', () => {
    expect(complaintsAbout([first, term('b', [200, 300], [4, 4])])).toEqual([
      expect.stringMatching(/^a .* still led while b /),
    ]);
  });

  it('finds a term within a longer one that is not the one before it', () => {
    const long = term('c', [10, 1000], [1, 1]);
    const terms = [long, term('a', [20, 30], [2, 2]), term('b', [900, 910], [3, 3])];
    expect(complaintsAbout(terms)).toEqual([
      expect.stringMatching(/^c .* still led while a /),
      expect.stringMatching(/^c .* still led while b /),
    ]);
  });

  it('finds a term of one look, which ended after it began, only where it surely lies within another', () => {
    expect(complaintsAbout([first, term('b', [160, 150], [4, 4])])).toHaveLength(1);
    expect(complaintsAbout([first, term('b', [210, 150], [4, 4])])).toEqual([]);
  });

  it.each([2, 3])('finds a token of %d where one of 3 was before', (token) => {
    const terms = [first, term('b', [201, 300], [4, 4]), term('c', [301, 400], [token, 9])];
    expect(complaintsAbout(terms)).toContainEqual(
      expect.stringMatching(/^c .* came after a .* no larger token$/),
    );
  });

  it('has nothing against a term of which no token was read', () => {
    expect(complaintsAbout([first, term('b', [201, 201], [0, 0])])).toEqual([]);
  });

  it('finds a token that fell within a term', () => {
    expect(complaintsAbout([{ ...first, falls: 1n }])).toEqual([
      expect.stringMatching(/^a .*: its token fell$/),
    ]);
  });

  it('measures the time without a leader', () => {
    const later = term('b', [2_000_200, 3_000_000], [4, 4]);
    expect(gapsBetween([later, first, term('c', [2_500_000, 4_000_000], [5, 5])])).toEqual([
      2, -0.5,
    ]);
  });
});

describe('the log of terms', () => {
  it('keeps what was written last of each term', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'term-log-'));
    const path = join(folder, 'terms');
    const { candidate: _, ...seen } = term('a', [100, 200], [1, 2 ** 52]);
    const log = new TermLog(path);
    expect(TermLog.read(path)).toEqual([]);
    log.write(0, seen);
    log.write(1, { ...seen, until: 300n });
    log.write(1, { ...seen, until: 400n });
    expect(TermLog.read(path)).toEqual([seen, { ...seen, until: 400n }]);
    await rm(folder, { recursive: true });
  });
});
