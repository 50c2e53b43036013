import { parseInfo, RedisServer, type RedisServerOptions } from './redis-server.js';
import type { RespValue } from './resp-reader.js';

const SLOTS = 16_384;

/** The first and the last slot of a range, and the id of the node that serves it. */
export type SlotRange = readonly [first: number, last: number, node: string];

/** A server that is a node of a cluster. */
export class ClusterNode {
  private constructor(
    readonly server: RedisServer,
    readonly id: string,
    private readonly busPort: number,
  ) {}

  static async start(program: string, options: RedisServerOptions): Promise<ClusterNode> {
    const server = await RedisServer.start(program, { ...options, cluster: true });
    const id = String(await server.command('CLUSTER', 'MYID'));
    const [, busPort] = (await server.command('CONFIG', 'GET', 'cluster-port')) as string[];
    return new ClusterNode(server, id, Number(busPort));
  }

  meet({ server, busPort }: ClusterNode): Promise<RespValue> {
    return this.server.command('CLUSTER', 'MEET', server.host, server.port, busPort);
  }

  /** Whether it serves, and knows `size` nodes that are all well. */
  async isWell(size: number): Promise<boolean> {
    const info = parseInfo(String(await this.server.command('CLUSTER', 'INFO')));
    const nodes = String(await this.server.command('CLUSTER', 'NODES'));
    return (
      info.get('cluster_state') === 'ok' &&
      info.get('cluster_known_nodes') === `${size}` &&
      !/handshake|fail|noaddr/.test(nodes)
    );
  }

  /** Who serves what, as this node sees it. */
  async slots(): Promise<readonly SlotRange[]> {
    const ranges = (await this.server.command('CLUSTER', 'SLOTS')) as [number, number, string[]][];
    return ranges
      .map(([first, last, node]): SlotRange => [first, last, node[2] as string])
      .toSorted(([a], [b]) => a - b);
  }

  /** The ports that it names to clients, its own and those of the others. */
  async ports(): Promise<readonly number[]> {
    const ranges = (await this.server.command('CLUSTER', 'SLOTS')) as [number, number, number[]][];
    return [...new Set(ranges.map(([, , node]) => node[1] as number))];
  }

  /** How many keys of a slot it has itself. */
  async countKeys(slot: number): Promise<number> {
    return Number(await this.server.command('CLUSTER', 'COUNTKEYSINSLOT', slot));
  }
}

/** Shares the slots evenly, and introduces everybody to everybody. */
export async function joinAll(nodes: readonly ClusterNode[]): Promise<void> {
  const first = (i: number): number => Math.floor((i * SLOTS) / nodes.length);
  await Promise.all(
    nodes.map(async (node, i) => {
      // Nodes of the same epoch would quarrel about it first.
      await node.server.command('CLUSTER', 'SET-CONFIG-EPOCH', i + 1);
      await node.server.command('CLUSTER', 'ADDSLOTSRANGE', first(i), first(i + 1) - 1);
    }),
  );
  await Promise.all(
    nodes.flatMap((node) =>
      nodes.filter((other) => other !== node).map((other) => node.meet(other)),
    ),
  );
}
