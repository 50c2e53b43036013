import type { NodeRedisClient } from './redis-client.js';

/** Keys and other arguments of a script. */
export interface EvalOptions {
  readonly keys: string[];
  readonly arguments: string[];
}

/** Told of a message, and on which channel. */
export type ChannelListener = (message: string, channel: string) => void;

/** What is used of a client of node-redis, and of the clients that a cluster is made of. */
export interface NodeRedis extends NodeRedisClient {
  readonly isOpen: boolean;
  eval(source: string, options: EvalOptions): Promise<unknown>;
  evalSha(digest: string, options: EvalOptions): Promise<unknown>;
  info(): Promise<string>;
  scanIterator(options: { MATCH: string; COUNT: number }): AsyncIterable<string[]>;
  duplicate(overrides: object): NodeRedis;
  sendCommand(args: string[]): Promise<unknown>;
  subscribe(channel: string, listener: ChannelListener): Promise<void>;
  unsubscribe(channel: string): Promise<void>;
  sSubscribe(channel: string, listener: ChannelListener): Promise<void>;
  sUnsubscribe(channel: string): Promise<void>;
  on(event: string, listener: (...args: never[]) => void): this;
  connect(): Promise<unknown>;
  destroy(): void;
}

/** What a cluster client has beyond that. */
export interface NodeRedisCluster extends NodeRedis {
  /** The primaries. */
  readonly masters: readonly object[];
  nodeClient(node: object): Promise<NodeRedis>;
}
