import type { SeenTerm } from './term-log.js';

/** A term, and whose it was. */
export interface Term extends SeenTerm {
  readonly candidate: string;
}

/** What must not be, in words; nothing if there was one leader at most at any time, and tokens rose from term to term. */
export function complaintsAbout(terms: readonly Term[]): string[] {
  const sorted = inOrder(terms);
  const complaints = sorted
    .filter(({ falls }) => falls > 0n)
    .map((term) => `${say(term)}: its token fell`);
  sorted.forEach((term, i) => {
    for (const earlier of sorted.slice(0, i)) {
      if (overlap(earlier, term)) {
        complaints.push(`${say(earlier)} still led while ${say(term)} did`);
      }
      if (term.firstToken !== 0n && term.firstToken <= earlier.lastToken) {
        complaints.push(`${say(term)} came after ${say(earlier)} with no larger token`);
      }
    }
  });
  return complaints;
}

/** The times without a leader between one term and the next, in milliseconds; an overlap is less than none. */
export function gapsBetween(terms: readonly Term[]): number[] {
  const sorted = inOrder(terms);
  return sorted.slice(1).map(({ since }, i) => Number(since - (sorted[i] as Term).until) / 1e6);
}

/** Whether both surely led at one moment: each had begun before the other's last look. */
function overlap(one: Term, other: Term): boolean {
  return one.since <= other.until && other.since <= one.until;
}

function inOrder(terms: readonly Term[]): Term[] {
  return terms.toSorted((a, b) => Number(a.since - b.since));
}

function say({ candidate, since, until, firstToken, lastToken }: Term): string {
  return `${candidate} (${since / 1000n} to ${until / 1000n} us, tokens ${firstToken} to ${lastToken})`;
}
