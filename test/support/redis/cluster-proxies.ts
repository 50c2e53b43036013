import { eventually } from './eventually.js';
import type { RedisCluster } from './redis-cluster.js';
import type { ClusterNode } from './redis-cluster-node.js';
import { TcpProxy } from './tcp-proxy.js';

/** A proxy in front of each node of a cluster, whose address the nodes name to clients as their own. */
export class ClusterProxies implements AsyncDisposable {
  private constructor(private readonly proxies: ReadonlyMap<ClusterNode, TcpProxy>) {}

  /** Resolves when no node names a real address any more. */
  static async start(cluster: RedisCluster): Promise<ClusterProxies> {
    const proxies = new Map<ClusterNode, TcpProxy>();
    const all = new ClusterProxies(proxies);
    try {
      for (const node of cluster.nodes) {
        proxies.set(node, await TcpProxy.start(node.server));
        await node.server.command('CONFIG', 'SET', 'cluster-announce-port', all.of(node).port);
      }
      await eventually('all nodes name the proxies', () => all.#areNamedBy(cluster.nodes));
    } catch (error) {
      await all.stop();
      throw error;
    }
    return all;
  }

  /** The addresses for clients. */
  get all(): readonly TcpProxy[] {
    return [...this.proxies.values()];
  }

  of(node: ClusterNode): TcpProxy {
    return this.proxies.get(node) as TcpProxy;
  }

  /** How many commands of a name, or of all names, have passed to all nodes. */
  count(name?: string): number {
    return this.all.reduce((sum, proxy) => sum + proxy.count(name), 0);
  }

  async stop(): Promise<void> {
    await Promise.all(this.all.map((proxy) => proxy.stop()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #areNamedBy(nodes: readonly ClusterNode[]): Promise<boolean> {
    const views = await Promise.all(nodes.map((node) => node.ports()));
    return this.all.every(({ port }) => views.every((ports) => ports.includes(port)));
  }
}
