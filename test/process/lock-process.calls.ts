import type { AcquireOptions } from '../../lib/interfaces/lock-options.interface.js';

/** What a process can be told to do. */
export type Call = { readonly id: number } & (
  | { readonly name: 'boot' }
  | { readonly name: 'acquire'; readonly key: string; readonly options?: AcquireOptions }
  | { readonly name: 'look' }
  | { readonly name: 'release' }
  | {
      readonly name: 'contend';
      readonly key: string;
      readonly waiters: number;
      readonly ms: number;
    }
  | { readonly name: 'end' }
);

/** The call of a name. */
export type CallOf<Name extends Call['name']> = Extract<Call, { readonly name: Name }>;

/** What became of a call. */
export interface Reply {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** How a process sees its lock. */
export interface Look {
  /** By the wall clock, in milliseconds. */
  readonly at: number;
  readonly held: boolean;
  readonly aborted: boolean;
  readonly token: string;
  readonly owner: string;
}

/** One turn of one of many callers. */
export interface Turn {
  readonly waiter: number;
  readonly token: number;
  /** By the wall clock, in milliseconds. */
  readonly from: number;
  readonly to: number;
}

/** Turns come as numbers, for there are many. */
export function turnsOf(numbers: Float64Array): Turn[] {
  return Array.from({ length: numbers.length / 4 }, (_, i) => {
    const [waiter, token, from, to] = numbers.subarray(4 * i) as Iterable<number> as [
      number,
      number,
      number,
      number,
    ];
    return { waiter, token, from, to };
  });
}
