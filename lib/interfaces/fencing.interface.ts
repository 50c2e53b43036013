import type { Duration } from './lock-options.interface.js';

/** What all fencing gates of a module have in common. */
export interface FencingOptions {
  /**
   * For how long a resource remembers its newest token after it was last written to: longer than any lock is held. At
   * least a minute, and the same in all processes.
   * @default '7d'
   */
  readonly retention?: Duration;
}

/** A fencing token as it comes along: from a handle, a header or a message. */
export type FencingTokenValue = bigint | string | number;

/** What has a fencing token: a lock's handle, or a leadership. */
export interface FencingTokenSource {
  readonly fencingToken: bigint;
}

/** An admission for a client that the driver does not know: run it in the transaction that writes. */
export interface FencingStatement {
  readonly text: string;
  /** Strings, each used once and in this order in the text. */
  readonly values: readonly unknown[];
  /** Throws `StaleFencingTokenError` if the rows that the statement gave say so; to be called before anything is written. */
  readonly check: (rows: readonly object[]) => void;
}
