import { gapsBetween, type Term } from './judge.js';
import { BLOWS, type Blow } from './storm.js';

/** What a storm has shown, in one line of words and numbers. */
export function reportOf(changes: readonly Blow[], terms: readonly Term[]): string {
  const gaps = gapsBetween(terms).toSorted((a, b) => a - b);
  const kinds = BLOWS.map((blow) => `${changes.filter((one) => one === blow).length} ${blow}`);
  const looks = terms.reduce((sum, term) => sum + Number(term.looks), 0);
  return (
    `${changes.length} changes (${kinds.join(', ')}), ${terms.length} terms, ${looks} looks; without a leader: ` +
    `median ${ms(gaps[Math.floor(gaps.length / 2)])}, longest ${ms(gaps.at(-1))}, shortest ${ms(gaps[0])}`
  );
}

function ms(gap = NaN): string {
  return `${gap.toFixed(1)} ms`;
}
