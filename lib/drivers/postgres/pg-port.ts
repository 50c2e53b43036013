/** A row of an answer: all columns come as text, whatever parsers of types the user has set. */
export type Row = readonly (string | null)[];

/** A statement as `pg` takes it. */
export interface PgQuery {
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly unknown[];
  readonly rowMode?: 'array';
}

/** The answer to one statement. */
export interface PgResult {
  readonly command: string | null;
  readonly rows: readonly Row[];
}

/** The answer to a text; where several statements stand in it, one each. */
export type PgAnswer = PgResult | readonly PgResult[];

/** What a connection of `pg` tells without being asked. */
export interface PgEvents {
  readonly error: (error: Error) => void;
  readonly end: () => void;
  readonly notification: (message: { readonly payload?: string }) => void;
}

/** A socket, or what the user has `pg` use in place of one, which need not know of the process that it keeps alive. */
export interface PgStream {
  destroy(): unknown;
  ref?(): unknown;
  unref?(): unknown;
}

/** What this driver uses of a `pg` Client. */
export interface PgClient {
  connect(): Promise<unknown>;
  query(query: PgQuery): Promise<PgAnswer>;
  end(): Promise<void>;
  on<E extends keyof PgEvents>(event: E, listener: PgEvents[E]): unknown;
  /** What was made of the options, a connection string and the environment; it is read when the client connects. */
  readonly connectionParameters?: object;
  readonly connection?: { readonly stream?: PgStream };
}

/** Makes a client that is not connected yet. */
export type PgClientClass = new (config: object) => PgClient;

/** What this driver uses of a `pg` Pool: never its connections, only how it makes them. */
export interface PgPool {
  readonly options: object;
  connect(...args: never[]): unknown;
}
