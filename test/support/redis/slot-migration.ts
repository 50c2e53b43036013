import type { ClusterNode } from './redis-cluster-node.js';

const MIGRATE_TIMEOUT = 5_000;
const ALL_KEYS = 10_000;

/** What moves a slot has to ask of its cluster. */
export interface MigratingCluster {
  readonly nodes: readonly ClusterNode[];
  untilAgreed(): Promise<void>;
}

/** A slot on its way from one node to another, step by step, so that a test can act in between. */
export class SlotMigration {
  constructor(
    private readonly cluster: MigratingCluster,
    readonly slot: number,
    readonly from: ClusterNode,
    readonly to: ClusterNode,
  ) {}

  /** From now on the old node sends clients on with ASK for keys that it does not have. */
  async begin(): Promise<void> {
    await this.to.server.command('CLUSTER', 'SETSLOT', this.slot, 'IMPORTING', this.from.id);
    await this.from.server.command('CLUSTER', 'SETSLOT', this.slot, 'MIGRATING', this.to.id);
  }

  /** Moves these keys, or all that there are. */
  async moveKeys(...keys: string[]): Promise<void> {
    const { host, port } = this.to.server;
    const moved = keys.length > 0 ? keys : await this.keys();
    if (moved.length > 0) {
      const command = ['MIGRATE', host, port, '', 0, MIGRATE_TIMEOUT, 'KEYS', ...moved];
      await this.from.server.command(...command);
    }
  }

  /** The keys that are still with the old node. */
  async keys(): Promise<readonly string[]> {
    const command = ['CLUSTER', 'GETKEYSINSLOT', this.slot, ALL_KEYS];
    return (await this.from.server.command(...command)) as string[];
  }

  /** The new node owns the slot; the keys should be there by now. Resolves when all nodes know. */
  async finish(): Promise<void> {
    const nodes = new Set([this.to, this.from, ...this.cluster.nodes]);
    for (const { server } of nodes) {
      await server.command('CLUSTER', 'SETSLOT', this.slot, 'NODE', this.to.id);
    }
    await this.cluster.untilAgreed();
  }

  /** Leaves the slot where it was; keys that have moved are lost to clients. */
  async abort(): Promise<void> {
    await this.from.server.command('CLUSTER', 'SETSLOT', this.slot, 'STABLE');
    await this.to.server.command('CLUSTER', 'SETSLOT', this.slot, 'STABLE');
  }

  /** All steps in one. */
  async run(): Promise<void> {
    await this.begin();
    await this.moveKeys();
    await this.finish();
  }
}
