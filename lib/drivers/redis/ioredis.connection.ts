import type { Ioredis } from './ioredis.types.js';
import type { DedicatedConnection, ReplicatedReply, ScriptCall } from './redis-port.js';
import { UnderWay } from './under-way.js';

/** A connection of its own, of which nothing is sent twice. */
export class IoredisConnection implements DedicatedConnection {
  readonly #underWay = new UnderWay();

  constructor(private readonly client: Ioredis) {
    client.on('close', () => this.#underWay.lose());
  }

  get isOver(): boolean {
    return this.client.status === 'end';
  }

  async callAndWait(call: ScriptCall, replicas: number, timeout: number): Promise<ReplicatedReply> {
    const { by, script, keys, args } = call;
    const pipeline = this.client.pipeline([
      [by, script, keys.length, ...keys, ...args],
      ['wait', replicas, timeout],
    ]);
    const [answer, waited] = await this.#underWay.follow(pipeline.exec());
    return { reply: replyOf(answer), replicas: Number(replyOf(waited)) };
  }

  close(): void {
    this.client.disconnect();
  }
}

function replyOf(answer: [error: Error | null, reply: unknown] | undefined): unknown {
  const [error, reply] = answer ?? [new Error('The client gave no answer')];
  if (error) {
    throw error;
  }
  return reply;
}
