import type { Tick } from './tick.js';

/** What a replica tells the process that has started it. */
export type ReplicaMessage =
  | { readonly kind: 'elected'; readonly node: string; readonly fencingToken: bigint }
  | { readonly kind: 'deposed'; readonly node: string; readonly reason: string }
  | ({ readonly kind: 'tick' } & Tick);

/** Tells it what happens here, to be printed in one place. */
export class ReplicaReporter {
  tell(message: ReplicaMessage): void {
    process.send?.(message);
  }
}
