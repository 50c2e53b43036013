/** A statement of this driver; everything that is the user's is a value. */
export interface Statement {
  /** Names the statement where it is prepared. */
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
  /**
   * How many milliseconds it may take.
   * @default 5,000
   */
  readonly timeout?: number;
}
