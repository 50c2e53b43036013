import { beforeEach, describe, expect, it, vi } from 'vitest';
import {
  IoredisClusterSubscriber,
  IoredisSubscriber,
} from '../../../../lib/drivers/redis/ioredis.subscriber.js';
import { Deferred } from '../../../support/deferred.js';
import { watch } from '../../../support/outcome.js';
import { FakeIoredis } from './fake-ioredis.js';
import { microtasks } from './microtasks.js';

let client: FakeIoredis;
const events = {
  message: vi.fn<(channel: string) => void>(),
  restored: vi.fn<() => void>(),
  ended: vi.fn<() => void>(),
};

beforeEach(() => {
  vi.clearAllMocks();
  client = new FakeIoredis();
});

describe('a subscriber of ioredis', () => {
  it('subscribes and unsubscribes, and passes on messages and the end', async () => {
    const subscriber = new IoredisSubscriber(client, events);
    await subscriber.subscribe('lock:a');
    await subscriber.unsubscribe('lock:a');
    client.emit('message', 'lock:a', '');
    client.emit('end');
    subscriber.close();
    expect(client.commands).toEqual([
      ['subscribe', 'lock:a'],
      ['unsubscribe', 'lock:a'],
      ['disconnect'],
    ]);
    expect(events.message.mock.calls).toEqual([['lock:a']]);
    expect(events.ended).toHaveBeenCalledTimes(1);
  });

  it('says when a channel cannot be listened to', async () => {
    client.answer = () => Promise.reject(new Error('NOPERM'));
    const subscriber = new IoredisSubscriber(client, events);
    await expect(subscriber.subscribe('lock:a')).rejects.toThrow('NOPERM');
    await expect(subscriber.unsubscribe('lock:a')).rejects.toThrow('NOPERM');
  });

  it('subscribes anew to what it still listens to when the connection is back, and then says so', async () => {
    const subscriber = new IoredisSubscriber(client, events);
    client.emit('ready');
    for (const channel of ['lock:a', 'lock:b', 'lock:c']) {
      await subscriber.subscribe(channel);
    }
    await subscriber.unsubscribe('lock:b');
    events.restored.mockClear();
    client.commands.length = 0;
    const subscribed = new Deferred();
    client.answer = () => subscribed.promise;
    client.emit('ready');
    await microtasks();
    expect(client.commands).toEqual([['subscribe', 'lock:a', 'lock:c']]);
    expect(events.restored).not.toHaveBeenCalled();
    subscribed.resolve();
    await microtasks();
    expect(events.restored).toHaveBeenCalledTimes(1);
  });

  it('has nothing to do when the connection is back and nobody listens', async () => {
    const subscriber = new IoredisSubscriber(client, events);
    client.emit('ready');
    await subscriber.subscribe('lock:a');
    await subscriber.unsubscribe('lock:a');
    client.commands.length = 0;
    client.emit('ready');
    await microtasks();
    expect(client.commands).toEqual([]);
    expect(events.restored).not.toHaveBeenCalled();
  });

  it('is silent when it cannot subscribe anew: the next loss of the connection tries again', async () => {
    const subscriber = new IoredisSubscriber(client, events);
    client.emit('ready');
    await subscriber.subscribe('lock:a');
    events.restored.mockClear();
    client.answer = () => Promise.reject(new Error('Connection is closed.'));
    client.emit('ready');
    await microtasks();
    expect(events.restored).not.toHaveBeenCalled();
    client.answer = () => 1;
    client.emit('ready');
    await microtasks();
    expect(events.restored).toHaveBeenCalledTimes(1);
  });
});

describe('a subscriber of ioredis in a cluster', () => {
  it('listens to shards where the servers have them', async () => {
    const subscriber = new IoredisClusterSubscriber(client, events, true);
    await subscriber.subscribe('lock:a');
    await subscriber.unsubscribe('lock:a');
    client.emit('message', 'lock:other', '');
    client.emit('smessage', 'lock:a', '');
    expect(client.commands).toEqual([
      ['ssubscribe', 'lock:a'],
      ['sunsubscribe', 'lock:a'],
    ]);
    expect(events.message.mock.calls).toEqual([['lock:a']]);
  });

  it('listens to all of the cluster where they have none', async () => {
    const subscriber = new IoredisClusterSubscriber(client, events, false);
    await subscriber.subscribe('lock:a');
    await subscriber.unsubscribe('lock:a');
    client.emit('smessage', 'lock:other', '');
    client.emit('message', 'lock:a', '');
    expect(client.commands).toEqual([
      ['subscribe', 'lock:a'],
      ['unsubscribe', 'lock:a'],
    ]);
    expect(events.message.mock.calls).toEqual([['lock:a']]);
  });

  it('says that the client is too old to listen to shards, instead of never being heard', async () => {
    client.shardedSubscribers = undefined;
    const outcome = watch(new IoredisClusterSubscriber(client, events, true).subscribe('lock:a'));
    await microtasks();
    expect(outcome.error?.message).toContain('cannot listen to the shards');
    expect(client.commands).toEqual([]);
  });

  it.each(['ready', '+subscriber', 'subscribersReady'])('is restored by %s', (event) => {
    const subscriber = new IoredisClusterSubscriber(client, events, true);
    client.emit(event);
    expect(events.restored).toHaveBeenCalledTimes(1);
    client.emit('end');
    expect(events.ended).toHaveBeenCalledTimes(1);
    subscriber.close();
    expect(client.commands).toEqual([['disconnect']]);
  });
});
