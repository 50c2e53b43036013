/** What a number must keep to; written in the table as it stands here. */
export interface Target {
  readonly bound: 'at least' | 'below' | 'exactly';
  readonly value: number;
}

/** One line of the report. Without a target it is there to compare with. */
export interface Finding {
  readonly what: string;
  readonly median: number;
  readonly min?: number;
  readonly max?: number;
  readonly unit: string;
  readonly target?: Target;
  readonly note?: string;
}

/** One bench; it has a process to itself. */
export interface Bench {
  readonly name: string;
  readonly about: string;
  run(): Promise<readonly Finding[]>;
}

/** Whether the finding keeps to its target; undefined where it has none. */
export function passes({ median, target }: Finding): boolean | undefined {
  switch (target?.bound) {
    case 'at least':
      return median >= target.value;
    case 'below':
      return median < target.value;
    case 'exactly':
      return median === target.value;
    default:
      return undefined;
  }
}
