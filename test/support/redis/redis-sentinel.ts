import type { RedisServer } from './redis-server.js';

/** How impatient the sentinels are, in milliseconds. */
export interface SentinelsOptions {
  /** @default 1000 */
  readonly downAfter?: number;
  /** @default 2000 */
  readonly failoverTimeout?: number;
}

/** What one sentinel knows of the primary that it watches. */
export interface SentinelView {
  readonly port: number;
  /** Whether it sees the primary up, two other sentinels, and a replica that could take over. */
  readonly isReady: boolean;
}

/** The configuration of a sentinel for one primary. */
export function sentinelConfigOf(
  name: string,
  { host, port }: RedisServer,
  { downAfter = 1_000, failoverTimeout = 2_000 }: SentinelsOptions,
): string {
  return [
    `sentinel monitor ${name} ${host} ${port} 2`,
    `sentinel down-after-milliseconds ${name} ${downAfter}`,
    `sentinel failover-timeout ${name} ${failoverTimeout}`,
  ].join('\n');
}

/** Lets a sentinel look around five times a second, not every ten seconds; a busy machine does not blind it for long. */
export async function wake(sentinel: RedisServer): Promise<void> {
  const periods = ['INFO-PERIOD', 'PING-PERIOD', 'ASK-PERIOD'].flatMap((period) => [period, 200]);
  await sentinel.command('SENTINEL', 'DEBUG', ...periods, 'TILT-PERIOD', 1_000);
}

/**
 * How often a sentinel talks to the others. After four times this period it makes a replica of a primary that it knows
 * nothing of: a failover takes place at ease, or the new primary is one for a moment only.
 */
export async function setPace(sentinel: RedisServer, pace: 'at ease' | 'in haste'): Promise<void> {
  const period = pace === 'at ease' ? 2_000 : 200;
  await sentinel.command('SENTINEL', 'DEBUG', 'PUBLISH-PERIOD', period);
}

/** What this sentinel knows. */
export async function viewOf(sentinel: RedisServer, name: string): Promise<SentinelView> {
  const primary = fields(await sentinel.command('SENTINEL', 'MASTER', name));
  const replicas = (await sentinel.command('SENTINEL', 'REPLICAS', name)) as string[][];
  const port = primary.get('port');
  const able = replicas.map(fields).filter((replica) => follows(replica, port));
  return {
    port: Number(port),
    isReady:
      primary.get('flags') === 'master' &&
      primary.get('num-other-sentinels') === '2' &&
      able.length === 1,
  };
}

// A sentinel that has not seen yet that the old primary obeys would tell it once more, after the next failover even.
function follows(replica: ReadonlyMap<string, string>, primary: string | undefined): boolean {
  return (
    replica.get('flags') === 'slave' &&
    replica.get('role-reported') === 'slave' &&
    replica.get('master-port') === primary &&
    replica.get('master-link-status') === 'ok'
  );
}

function fields(list: unknown): ReadonlyMap<string, string> {
  const items = list as string[];
  return new Map(
    items.flatMap((item, i): [string, string][] => (i % 2 ? [] : [[item, items[i + 1] ?? '']])),
  );
}
