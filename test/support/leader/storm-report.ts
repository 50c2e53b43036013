import { gapsBetween, type Term } from './judge.js';
import { type Blow, BLOWS, type Change } from './storm.js';

/** What a storm has shown, in one line of words and numbers. */
export function reportOf(changes: readonly Change[], terms: readonly Term[]): string {
  const gaps = gapsBetween(terms);
  const looks = terms.reduce((sum, term) => sum + Number(term.looks), 0);
  const kinds = BLOWS.map((blow) => kindOf(blow, changes)).filter((kind) => kind !== '');
  return (
    `${changes.length} changes (${kinds.join(', ')}), ${terms.length} terms, ${looks} looks; without a leader: ` +
    `${median(gaps)} ms (median), ${Math.max(...gaps).toFixed(1)} ms (longest), ${Math.min(...gaps).toFixed(1)} ms (shortest)`
  );
}

/** How often there was such a blow, and how long it took until somebody led again. */
function kindOf(kind: Blow, changes: readonly Change[]): string {
  const took = changes.filter(({ blow }) => blow === kind).map((change) => change.took);
  return took.length === 0
    ? ''
    : `${took.length} ${kind}: ${median(took)} to ${Math.max(...took).toFixed(0)} ms`;
}

function median(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  return (sorted[Math.floor(sorted.length / 2)] ?? NaN).toFixed(1);
}
