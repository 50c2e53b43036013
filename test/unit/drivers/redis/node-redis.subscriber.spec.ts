import { beforeEach, describe, expect, it, vi } from 'vitest';
import { NodeRedisSubscriber } from '../../../../lib/drivers/redis/node-redis.subscriber.js';
import { Deferred } from '../../../support/deferred.js';
import { watch } from '../../../support/outcome.js';
import { FakeNodeRedis } from './fake-node-redis.js';
import { microtasks } from './microtasks.js';

let client: FakeNodeRedis;
const events = {
  message: vi.fn<(channel: string) => void>(),
  restored: vi.fn<() => void>(),
  ended: vi.fn<() => void>(),
};

beforeEach(() => {
  vi.clearAllMocks();
  client = new FakeNodeRedis();
});

describe('a subscriber of node-redis', () => {
  it('connects at once, and subscribes when that is done', async () => {
    const connected = new Deferred();
    client.answer = (command) => (command === 'connect' ? connected.promise : undefined);
    const subscriber = new NodeRedisSubscriber(client, events, false);
    const outcome = watch(subscriber.subscribe('lock:a'));
    await microtasks();
    expect(client.commands).toEqual([['connect']]);
    connected.resolve();
    await microtasks();
    expect(client.commands).toEqual([['connect'], ['subscribe', 'lock:a']]);
    expect(outcome.settled).toBe(true);
  });

  it.each([
    [false, 'subscribe', 'unsubscribe'],
    [true, 'sSubscribe', 'sUnsubscribe'],
  ])('with shards (%s) uses %s and %s, and passes on messages', async (sharded, begin, end) => {
    const subscriber = new NodeRedisSubscriber(client, events, sharded);
    await subscriber.subscribe('lock:a');
    await subscriber.unsubscribe('lock:a');
    expect(client.commands).toEqual([['connect'], [begin, 'lock:a'], [end, 'lock:a']]);
    client.channelListeners.get('lock:a')!('', 'lock:a');
    expect(events.message.mock.calls).toEqual([['lock:a']]);
  });

  it.each(['ready', 'node-ready'])('is restored by %s', (event) => {
    expect(new NodeRedisSubscriber(client, events, false)).toBeDefined();
    client.emit(event);
    expect(events.restored).toHaveBeenCalledTimes(1);
  });

  it('has ended when the client has, and when it cannot connect', async () => {
    expect(new NodeRedisSubscriber(client, events, false)).toBeDefined();
    client.emit('end');
    expect(events.ended).toHaveBeenCalledTimes(1);

    const refused = new FakeNodeRedis();
    refused.answer = () => Promise.reject(new Error('ECONNREFUSED'));
    const subscriber = new NodeRedisSubscriber(refused, events, false);
    await microtasks();
    expect(events.ended).toHaveBeenCalledTimes(2);
    await expect(subscriber.subscribe('lock:a')).rejects.toThrow('ECONNREFUSED');
    await expect(subscriber.unsubscribe('lock:a')).rejects.toThrow('ECONNREFUSED');
  });

  it('is closed at once, also where it is closed already', () => {
    const subscriber = new NodeRedisSubscriber(client, events, false);
    subscriber.close();
    client.answer = () => {
      throw new Error('The client is closed');
    };
    expect(() => subscriber.close()).not.toThrow();
    expect(client.commands).toEqual([['connect'], ['destroy'], ['destroy']]);
  });
});
