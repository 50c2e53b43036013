import type {
  DedicatedConnection,
  RedisPort,
  RedisSubscriber,
  ReplicatedReply,
  ScriptCall,
  SubscriberEvents,
} from '../../../../lib/drivers/redis/redis-port.js';
import { FakeServer } from './fake-server.js';
import { FakeSubscriber } from './fake-subscriber.js';

/** A port to a server that is none. */
export class FakePort implements RedisPort {
  isCluster = false;
  complaint: string | undefined;
  readonly server = new FakeServer();
  readonly subscribers: FakeSubscriber[] = [];
  readonly sharded: boolean[] = [];
  readonly patterns: string[] = [];
  readonly connections: FakeConnection[] = [];
  /** What the last of them was given to be there. */
  patience = 0;
  open: (connection: FakeConnection) => Promise<DedicatedConnection> = (connection) =>
    Promise.resolve(connection);

  evalsha(script: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.server.run({ by: 'evalsha', script, keys, args });
  }

  eval(script: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.server.run({ by: 'eval', script, keys, args });
  }

  async info(): Promise<readonly string[]> {
    return [(await this.server.info()) as string];
  }

  async *scan(pattern: string): AsyncIterable<readonly string[]> {
    this.patterns.push(pattern);
    yield* this.server.pages;
  }

  subscribe(events: SubscriberEvents, sharded: boolean): RedisSubscriber {
    const subscriber = new FakeSubscriber(events);
    this.subscribers.push(subscriber);
    this.sharded.push(sharded);
    return subscriber;
  }

  dedicated(patience: number): Promise<DedicatedConnection> {
    this.patience = patience;
    const connection = new FakeConnection();
    this.connections.push(connection);
    return this.open(connection);
  }
}

/** A connection that answers as the test wants. */
export class FakeConnection implements DedicatedConnection {
  isOver = false;
  closed = 0;
  readonly calls: { call: ScriptCall; replicas: number; timeout: number }[] = [];
  answer: (call: ScriptCall) => Promise<ReplicatedReply> = () =>
    Promise.resolve({ reply: [], replicas: 1 });

  callAndWait(call: ScriptCall, replicas: number, timeout: number): Promise<ReplicatedReply> {
    this.calls.push({ call, replicas, timeout });
    return this.answer(call);
  }

  close(): void {
    this.closed++;
  }
}
