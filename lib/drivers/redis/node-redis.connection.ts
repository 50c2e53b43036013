import { closeQuietly } from './node-redis.subscriber.js';
import type { NodeRedis } from './node-redis.types.js';
import type { DedicatedConnection, ReplicatedReply, ScriptCall } from './redis-port.js';
import { UnderWay } from './under-way.js';

/** A connection of its own, of which nothing is sent twice. */
export class NodeRedisConnection implements DedicatedConnection {
  readonly #underWay = new UnderWay();

  constructor(private readonly client: NodeRedis) {
    client.on('reconnecting', () => this.#underWay.lose());
    client.on('end', () => this.#underWay.lose());
  }

  get isOver(): boolean {
    return !this.client.isOpen;
  }

  async callAndWait(call: ScriptCall, replicas: number, timeout: number): Promise<ReplicatedReply> {
    const { by, script, keys, args } = call;
    const options = { keys: [...keys], arguments: [...args] };
    // Sent in one go: there is nothing between them on the wire.
    const sent = Promise.all([
      by === 'eval' ? this.client.eval(script, options) : this.client.evalSha(script, options),
      this.client.sendCommand(['WAIT', String(replicas), String(timeout)]),
    ]);
    const [reply, count] = await this.#underWay.follow(sent);
    return { reply, replicas: Number(count) };
  }

  close(): void {
    closeQuietly(this.client);
  }
}
