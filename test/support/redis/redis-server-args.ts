import { join } from 'node:path';

export const SENTINEL_FILE = 'sentinel.conf';

/** How to start a server. */
export interface RedisServerOptions {
  /** More arguments; they win over the usual ones. */
  readonly args?: readonly string[];
  /** Writes every change to the append-only file, and restarts from it. */
  readonly aof?: boolean;
  /** Makes it a node of a cluster that is yet to meet the others. */
  readonly cluster?: boolean;
  /** Makes it a sentinel with this configuration. */
  readonly sentinel?: string;
}

export function serverArgs(
  port: number,
  busPort: number,
  folder: string,
  options: RedisServerOptions,
): string[] {
  const { args = [], aof = false, cluster = false, sentinel } = options;
  if (sentinel !== undefined) {
    return [join(folder, SENTINEL_FILE), '--sentinel', ...args];
  }
  const usual = {
    port,
    bind: '127.0.0.1',
    dir: folder,
    save: '',
    appendonly: aof ? 'yes' : 'no',
    appendfsync: 'always',
    // A replica that waits for others to join it would wait for five seconds.
    'repl-diskless-sync-delay': 0,
    ...(cluster && { 'cluster-enabled': 'yes', 'cluster-port': busPort }),
  };
  return [...Object.entries(usual).flatMap(([name, value]) => [`--${name}`, `${value}`]), ...args];
}

/** A sentinel wants a file, which it writes to. */
export function sentinelConfig(port: number, folder: string, config: string): string {
  return `port ${port}\nbind 127.0.0.1\ndir ${folder}\n${config}\n`;
}
