import type { Ioredis, IoredisPipeline } from '../../../../lib/drivers/redis/ioredis.types.js';
import { FakeEmitter } from './fake-emitter.js';
import { FakeServer } from './fake-server.js';

type PipelineReply = [error: Error | null, reply: unknown][];

/** A client of the shape of ioredis that writes down what it is asked for. */
export class FakeIoredis extends FakeEmitter implements Ioredis {
  status = 'ready';
  isCluster = false;
  options: Readonly<Record<string, unknown>> = {};
  shardedSubscribers: unknown = {};
  /** Of a cluster: its primaries. */
  primaries: FakeIoredis[] = [];
  /** What was asked for beyond scripts. */
  readonly commands: unknown[][] = [];
  readonly duplicates: FakeIoredis[] = [];
  /** The arguments that a duplicate was made with. */
  overrides: readonly object[] = [];
  answer: (...command: unknown[]) => unknown = () => undefined;
  answerPipeline: () => Promise<PipelineReply> = () => Promise.resolve([]);
  /** What each new duplicate is made to be. */
  prepare: (duplicate: FakeIoredis) => void = () => undefined;

  constructor(readonly server = new FakeServer()) {
    super();
  }

  eval(script: string, keyCount: number, ...rest: string[]): Promise<unknown> {
    const [keys, args] = [rest.slice(0, keyCount), rest.slice(keyCount)];
    return this.server.run({ by: 'eval', script, keys, args });
  }

  evalsha(script: string, keyCount: number, ...rest: string[]): Promise<unknown> {
    const [keys, args] = [rest.slice(0, keyCount), rest.slice(keyCount)];
    return this.server.run({ by: 'evalsha', script, keys, args });
  }

  async info(): Promise<string> {
    return (await this.server.info()) as string;
  }

  async scan(...args: unknown[]): Promise<[cursor: string, keys: string[]]> {
    return (await this.note('scan', ...args)) as [string, string[]];
  }

  nodes(role: 'master'): Ioredis[] {
    this.commands.push(['nodes', role]);
    return this.primaries;
  }

  duplicate(...overrides: object[]): FakeIoredis {
    const duplicate = new FakeIoredis(this.server);
    duplicate.overrides = overrides;
    duplicate.isCluster = this.isCluster;
    this.prepare(duplicate);
    this.duplicates.push(duplicate);
    return duplicate;
  }

  pipeline(commands: (string | number)[][]): IoredisPipeline {
    this.commands.push(...commands);
    return { exec: () => this.answerPipeline() };
  }

  subscribe(...channels: string[]): Promise<unknown> {
    return this.note('subscribe', ...channels);
  }

  unsubscribe(...channels: string[]): Promise<unknown> {
    return this.note('unsubscribe', ...channels);
  }

  ssubscribe(channel: string): Promise<unknown> {
    return this.note('ssubscribe', channel);
  }

  sunsubscribe(channel: string): Promise<unknown> {
    return this.note('sunsubscribe', channel);
  }

  async connect(): Promise<void> {
    await this.note('connect');
  }

  disconnect(): void {
    this.commands.push(['disconnect']);
  }

  private async note(...command: unknown[]): Promise<unknown> {
    this.commands.push(command);
    return this.answer(...command);
  }
}
