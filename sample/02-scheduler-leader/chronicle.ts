import type { RecordedTick } from './tick.js';

/** One who has led, as long as it did. */
export interface TermRecord {
  readonly node: string;
  readonly firstToken: bigint;
  endedBy?: string;
}

/** What became of one term, for the table. */
export interface TermSummary extends TermRecord {
  readonly lastToken: bigint;
  readonly ticks: number;
}

/** Writes down who has led, one after the other, and judges whether all went well. */
export class Chronicle {
  private readonly terms: TermRecord[] = [];

  get count(): number {
    return this.terms.length;
  }

  /** Who was elected last, if that one still leads. */
  get leader(): string | undefined {
    const last = this.terms.at(-1);
    return last?.endedBy === undefined ? last?.node : undefined;
  }

  elected(node: string, firstToken: bigint): void {
    this.terms.push({ node, firstToken });
  }

  /** The first reason stands: one who is shut down is deposed before its process ends. */
  ended(node: string, endedBy: string): void {
    const term = this.terms.findLast((record) => record.node === node);
    if (term !== undefined) {
      term.endedBy ??= endedBy;
    }
  }

  /** The ticks of a term are those with its tokens: they rise during a term, and stay below those of the next. */
  summarize(ticks: readonly RecordedTick[]): readonly TermSummary[] {
    return this.terms.map((term, i) => {
      const next = this.terms[i + 1]?.firstToken;
      const tokens = ticks
        .filter(({ node }) => node === term.node)
        .map(({ fencingToken }) => fencingToken)
        .filter((token) => token >= term.firstToken && (next === undefined || token < next));
      return { ...term, lastToken: tokens.at(-1) ?? term.firstToken, ticks: tokens.length };
    });
  }

  /** What went wrong; nothing, if the sample shows what it is to show. */
  faults(ticks: readonly RecordedTick[]): readonly string[] {
    const terms = this.summarize(ticks);
    const ofTerms = terms.reduce((sum, term) => sum + term.ticks, 0);
    const firstTokens = terms.map(({ firstToken }) => firstToken);
    const faults: [boolean, string][] = [
      [ticks.some(({ runs }) => runs > 1), 'a slot ran twice'],
      [!isRising(firstTokens), 'a term’s token was not larger than the one before'],
      [ofTerms !== ticks.length, 'a slot was run with a token of no term'],
    ];
    return faults.filter(([isSo]) => isSo).map(([, fault]) => fault);
  }
}

function isRising(tokens: readonly bigint[]): boolean {
  return tokens.every((token, i) => i === 0 || token > (tokens[i - 1] as bigint));
}
