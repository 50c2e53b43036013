/** How many letters may be wrong before a guess is no help. */
const MAX_DISTANCE = 2;

/** The word that was probably meant, or undefined. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const guesses = known
    .map((candidate) => ({
      candidate,
      distance: distance(word.toLowerCase(), candidate.toLowerCase()),
    }))
    .filter((guess) => guess.distance <= MAX_DISTANCE && guess.distance < guess.candidate.length)
    .toSorted((a, b) => a.distance - b.distance);
  return guesses[0]?.candidate;
}

/** Levenshtein's: letters to insert, delete or replace. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 0; i < a.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) {
      const replaced = (row[j] as number) + (a[i] === b[j] ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] as number) + 1, (next[j] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}
