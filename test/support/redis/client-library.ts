import type { RedisAddress } from './redis-address.js';

/** A client of some library, which neither throws errors at nobody nor keeps the process alive. */
export interface OpenClient<C> extends AsyncDisposable {
  readonly client: C;
  /** What its `error` events said. */
  readonly errors: readonly unknown[];
  /** Resolves with itself when the client is ready to use. */
  connect(): Promise<this>;
  /** In a cluster the first argument is the key. */
  command(name: string, ...args: string[]): Promise<unknown>;
  /** Drops the connections at once, in whatever state the client is. */
  close(): Promise<void>;
}

/** How to make the clients of one library; the options are the library's own, and win over what tests usually use. */
export interface ClientLibrary<C, Cluster, Options = object, ClusterOptions = object> {
  readonly name: string;
  /** Not connected yet, as {@link OpenClient.connect} does it. */
  standalone(address: RedisAddress, options?: Options): OpenClient<C>;
  /** Not connected yet, as {@link OpenClient.connect} does it. */
  cluster(nodes: readonly RedisAddress[], options?: ClusterOptions): OpenClient<Cluster>;
}

/** A library that finds a primary by asking sentinels, too. */
export interface SentinelLibrary<
  C,
  Cluster,
  Options = object,
  ClusterOptions = object,
> extends ClientLibrary<C, Cluster, Options, ClusterOptions> {
  /** Not connected yet, as {@link OpenClient.connect} does it. */
  sentinel(
    sentinels: { readonly name: string; readonly sentinels: readonly RedisAddress[] },
    options?: Options,
  ): OpenClient<C>;
}
