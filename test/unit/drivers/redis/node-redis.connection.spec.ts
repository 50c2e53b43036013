import { beforeEach, describe, expect, it } from 'vitest';
import { NodeRedisConnection } from '../../../../lib/drivers/redis/node-redis.connection.js';
import type { ScriptCall } from '../../../../lib/drivers/redis/redis-port.js';
import { Deferred } from '../../../support/deferred.js';
import { watch } from '../../../support/outcome.js';
import { FakeNodeRedis } from './fake-node-redis.js';
import { FakeServer } from './fake-server.js';
import { microtasks } from './microtasks.js';

const call: ScriptCall = { by: 'evalsha', script: 'abc', keys: ['k', 'l'], args: ['1'] };

let server: FakeServer;
let client: FakeNodeRedis;
let connection: NodeRedisConnection;
let reply: (call: ScriptCall) => Promise<unknown>;

beforeEach(() => {
  server = new FakeServer();
  reply = () => Promise.resolve(['granted']);
  server.run = (sent) => {
    server.calls.push(sent);
    return reply(sent);
  };
  client = new FakeNodeRedis(server);
  client.answer = () => 2;
  connection = new NodeRedisConnection(client);
});

describe('a script and its WAIT by node-redis', () => {
  it('are sent in one go, and answered with the reply and the number of replicas', async () => {
    const answer = connection.callAndWait(call, 1, 500);
    expect(server.calls).toEqual([call]);
    expect(client.commands).toEqual([['sendCommand', 'WAIT', '1', '500']]);
    await expect(answer).resolves.toEqual({ reply: ['granted'], replicas: 2 });
  });

  it('may be sent by source, and the number may be a string', async () => {
    client.answer = () => '1';
    const bySource = { ...call, by: 'eval' as const, script: 'return' };
    await expect(connection.callAndWait(bySource, 1, 500)).resolves.toMatchObject({ replicas: 1 });
    expect(server.calls).toEqual([bySource]);
  });

  it('fail with the error of either', async () => {
    const error = new Error('NOSCRIPT');
    client.answer = () => Promise.reject(error);
    await expect(connection.callAndWait(call, 1, 500)).rejects.toBe(error);
    client.answer = () => 1;
    reply = () => Promise.reject(error);
    await expect(connection.callAndWait(call, 1, 500)).rejects.toBe(error);
  });

  it('fail once where both fail', async () => {
    reply = () => Promise.reject(new Error('script'));
    client.answer = () => Promise.reject(new Error('wait'));
    await expect(connection.callAndWait(call, 1, 500)).rejects.toThrow('script');
  });

  it.each(['reconnecting', 'end'])(
    'fail where the connection is lost meanwhile (%s), even if answers come afterwards',
    async (event) => {
      const granted = new Deferred<unknown>();
      const waited = new Deferred<unknown>();
      reply = () => granted.promise;
      client.answer = () => waited.promise;
      const outcome = watch(connection.callAndWait(call, 1, 500));
      granted.resolve(['granted']);
      await microtasks();
      client.emit(event);
      waited.resolve(2);
      await microtasks();
      expect(outcome.error?.message).toContain('connection was lost');
    },
  );
});

describe('a connection of node-redis', () => {
  it('is over when it is not open any more', () => {
    expect(connection.isOver).toBe(false);
    client.isOpen = false;
    expect(connection.isOver).toBe(true);
  });

  it('is closed at once, and again without an error', () => {
    connection.close();
    client.answer = () => {
      throw new Error('The client is closed');
    };
    connection.close();
    expect(client.commands).toEqual([['destroy'], ['destroy']]);
  });
});
