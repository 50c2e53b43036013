import type {
  ChannelListener,
  EvalOptions,
  NodeRedis,
  NodeRedisCluster,
} from '../../../../lib/drivers/redis/node-redis.types.js';
import { FakeEmitter } from './fake-emitter.js';
import { FakeServer } from './fake-server.js';

/** A client of the shape of node-redis that writes down what it is asked for. */
export class FakeNodeRedis extends FakeEmitter implements NodeRedis {
  isOpen = true;
  /** What was asked for beyond scripts. */
  readonly commands: unknown[][] = [];
  readonly duplicates: FakeNodeRedis[] = [];
  /** The options that a duplicate was made with. */
  overrides: object = {};
  readonly channelListeners = new Map<string, ChannelListener>();
  answer: (...command: unknown[]) => unknown = () => undefined;
  /** What each new duplicate is made to be. */
  prepare: (duplicate: FakeNodeRedis) => void = () => undefined;

  constructor(readonly server = new FakeServer()) {
    super();
  }

  eval(script: string, options: EvalOptions): Promise<unknown> {
    const { keys, arguments: args } = options;
    return this.server.run({ by: 'eval', script, keys, args });
  }

  evalSha(script: string, options: EvalOptions): Promise<unknown> {
    const { keys, arguments: args } = options;
    return this.server.run({ by: 'evalsha', script, keys, args });
  }

  async info(): Promise<string> {
    return (await this.server.info()) as string;
  }

  async *scanIterator(options: { MATCH: string; COUNT: number }): AsyncIterable<string[]> {
    this.commands.push(['scanIterator', options]);
    yield* this.server.pages.map((page) => [...page]);
  }

  duplicate(overrides: object): FakeNodeRedis {
    const duplicate = new FakeNodeRedis(this.server);
    duplicate.overrides = overrides;
    this.prepare(duplicate);
    this.duplicates.push(duplicate);
    return duplicate;
  }

  sendCommand(args: string[]): Promise<unknown> {
    return this.note('sendCommand', ...args);
  }

  async subscribe(channel: string, listener: ChannelListener): Promise<void> {
    this.channelListeners.set(channel, listener);
    await this.note('subscribe', channel);
  }

  async unsubscribe(channel: string): Promise<void> {
    await this.note('unsubscribe', channel);
  }

  async sSubscribe(channel: string, listener: ChannelListener): Promise<void> {
    this.channelListeners.set(channel, listener);
    await this.note('sSubscribe', channel);
  }

  async sUnsubscribe(channel: string): Promise<void> {
    await this.note('sUnsubscribe', channel);
  }

  connect(): Promise<unknown> {
    return this.note('connect');
  }

  destroy(): void {
    this.commands.push(['destroy']);
    this.answer('destroy');
  }

  private async note(...command: unknown[]): Promise<unknown> {
    this.commands.push(command);
    return this.answer(...command);
  }
}

/** The same of a cluster. */
export class FakeNodeRedisCluster extends FakeNodeRedis implements NodeRedisCluster {
  readonly nodes: FakeNodeRedis[] = [];

  get masters(): readonly object[] {
    return this.nodes.map((_, index) => ({ index }));
  }

  nodeClient(node: { readonly index: number }): Promise<NodeRedis> {
    return Promise.resolve(this.nodes[node.index]!);
  }
}
