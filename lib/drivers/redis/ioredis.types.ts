import type { IoredisClient } from './redis-client.js';

/** What is used of an ioredis client, and of the clients that a cluster is made of. */
export interface Ioredis extends IoredisClient {
  readonly isCluster?: boolean;
  readonly options: { readonly redisOptions?: object };
  /** There where a cluster client can listen to shards. */
  readonly shardedSubscribers?: unknown;
  eval(source: string, keyCount: number, ...args: string[]): Promise<unknown>;
  evalsha(digest: string, keyCount: number, ...args: string[]): Promise<unknown>;
  info(): Promise<string>;
  scan(cursor: string, ...args: (string | number)[]): Promise<[cursor: string, keys: string[]]>;
  nodes(role: 'master'): Ioredis[];
  duplicate(...overrides: object[]): Ioredis;
  pipeline(commands: (string | number)[][]): IoredisPipeline;
  subscribe(...channels: string[]): Promise<unknown>;
  unsubscribe(...channels: string[]): Promise<unknown>;
  ssubscribe(channel: string): Promise<unknown>;
  sunsubscribe(channel: string): Promise<unknown>;
  on(event: string, listener: (...args: never[]) => void): this;
  once(event: string, listener: (...args: never[]) => void): this;
  connect(): Promise<void>;
  disconnect(): void;
}

/** Commands that are sent together. */
export interface IoredisPipeline {
  exec(): Promise<[error: Error | null, reply: unknown][]>;
}
