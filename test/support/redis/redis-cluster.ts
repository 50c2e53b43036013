import { eventually } from './eventually.js';
import { ClusterNode, joinAll, type SlotRange } from './redis-cluster-node.js';
import type { RedisServer, RedisServerOptions } from './redis-server.js';
import { SlotMigration } from './slot-migration.js';

/** A cluster of primaries that share the slots evenly, each with a redis-server of its own. */
export class RedisCluster implements AsyncDisposable {
  private constructor(readonly nodes: readonly ClusterNode[]) {}

  /** Resolves when every node knows all the others and serves its slots. */
  static async start(
    program: string,
    { size = 3, ...options }: RedisServerOptions & { readonly size?: number } = {},
  ): Promise<RedisCluster> {
    const starting = Array.from({ length: size }, () => ClusterNode.start(program, options));
    const started = await Promise.allSettled(starting);
    const nodes = started.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []));
    const cluster = new RedisCluster(nodes);
    try {
      await Promise.all(starting);
      await joinAll(nodes);
      await cluster.untilAgreed();
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  get servers(): readonly RedisServer[] {
    return this.nodes.map(({ server }) => server);
  }

  async slotOf(key: string): Promise<number> {
    return Number(await this.#first.server.command('CLUSTER', 'KEYSLOT', key));
  }

  /** The node that serves a slot, as the first node sees it. */
  async ownerOf(slot: number): Promise<ClusterNode> {
    const id = ownerIn(await this.#first.slots(), slot);
    return this.nodes.find((node) => node.id === id) as ClusterNode;
  }

  /** The node that a key belongs to. */
  async nodeOf(key: string): Promise<ClusterNode> {
    return this.ownerOf(await this.slotOf(key));
  }

  /** The nodes that a key does not belong to. */
  async othersThan(key: string): Promise<readonly ClusterNode[]> {
    const owner = await this.nodeOf(key);
    return this.nodes.filter((node) => node !== owner);
  }

  /** A key of each node, made of a prefix: for tests that need several nodes at once. */
  async keysOfAllNodes(prefix: string): Promise<readonly string[]> {
    const keys = new Map<ClusterNode, string>();
    for (let i = 0; keys.size < this.nodes.length; i++) {
      keys.set(await this.nodeOf(`${prefix}${i}`), `${prefix}${i}`);
    }
    return this.nodes.map((node) => keys.get(node) as string);
  }

  /** Begins to move the slot of a key to another node; the test goes on with the steps of its own accord. */
  async migrationOf(key: string, to?: ClusterNode): Promise<SlotMigration> {
    const from = await this.nodeOf(key);
    const target = to ?? (await this.othersThan(key))[0];
    return new SlotMigration(this, await this.slotOf(key), from, target as ClusterNode);
  }

  /** Resolves when all nodes that run are well and say the same of every slot. */
  async untilAgreed(): Promise<void> {
    const { nodes } = this;
    await eventually('the nodes of the cluster agree', async () => {
      const running = nodes.filter(({ server }) => server.isRunning);
      const well = await Promise.all(running.map((node) => node.isWell(nodes.length)));
      const views = await Promise.all(
        running.map(async (node) => JSON.stringify(await node.slots())),
      );
      return well.every(Boolean) && new Set(views).size === 1;
    });
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  get #first(): ClusterNode {
    return this.nodes.find(({ server }) => server.isRunning) as ClusterNode;
  }
}

function ownerIn(slots: readonly SlotRange[], slot: number): string {
  const range = slots.find(([first, last]) => first <= slot && slot <= last);
  if (range === undefined) {
    throw new Error(`No node serves the slot ${slot}`);
  }
  return range[2];
}
