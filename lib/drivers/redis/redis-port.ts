/** What the driver needs of a client, whichever library it comes from. */
export interface RedisPort {
  /** Whether keys live on several nodes, so that one script may use keys of one slot only. */
  readonly isCluster: boolean;

  /** Why the client cannot be used as it is, if it cannot. */
  readonly complaint?: string | undefined;

  /** Runs a script that the server knows by its digest. */
  evalsha(digest: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;

  /** Runs a script that is sent along. */
  eval(source: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;

  /** `INFO` of every primary. */
  info(): Promise<readonly string[]>;

  /** The full names of all keys that match a glob pattern, of every primary, page by page. */
  scan(pattern: string): AsyncIterable<readonly string[]>;

  /** A second connection, for notices. */
  subscribe(events: SubscriberEvents, sharded: boolean): RedisSubscriber;

  /** A connection for requests that must not be mixed with others, nor sent twice; given up if it is not there after so many milliseconds. */
  dedicated(patience: number): Promise<DedicatedConnection>;
}

/** This client can never listen to what it was asked for. */
export class CannotListenError extends Error {
  override readonly name = 'CannotListenError';
}

/** A connection that listens. */
export interface RedisSubscriber {
  /** Resolves when the channel is listened to. */
  subscribe(channel: string): Promise<void>;
  unsubscribe(channel: string): Promise<void>;
  close(): void;
}

/** What a {@link RedisSubscriber} tells. */
export interface SubscriberEvents {
  message(channel: string): void;
  /** The connection was lost and is back: whatever was sent meanwhile went unheard. */
  restored(): void;
  /** It will not come back by itself. */
  ended(): void;
}

/** A connection on which a script and the `WAIT` that belongs to it follow one another. */
export interface DedicatedConnection {
  /** Whether it was lost and will not come back. */
  readonly isOver: boolean;
  /** Runs a script and waits, at most so many milliseconds, for replicas; rejects if the connection is lost meanwhile. */
  callAndWait(call: ScriptCall, replicas: number, timeout: number): Promise<ReplicatedReply>;
  close(): void;
}

/** A script, its digest or its source, and what it is run with. */
export interface ScriptCall {
  readonly by: 'evalsha' | 'eval';
  readonly script: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

/** What a script answered, and how many replicas have its effects. */
export interface ReplicatedReply {
  readonly reply: unknown;
  readonly replicas: number;
}
