import { beforeEach, describe, expect, it } from 'vitest';
import { IoredisConnection } from '../../../../lib/drivers/redis/ioredis.connection.js';
import type { ScriptCall } from '../../../../lib/drivers/redis/redis-port.js';
import { Deferred } from '../../../support/deferred.js';
import { watch } from '../../../support/outcome.js';
import { FakeIoredis } from './fake-ioredis.js';
import { microtasks } from './microtasks.js';

const call: ScriptCall = { by: 'evalsha', script: 'abc', keys: ['k', 'l'], args: ['1'] };

let client: FakeIoredis;
let connection: IoredisConnection;

beforeEach(() => {
  client = new FakeIoredis();
  connection = new IoredisConnection(client);
});

describe('a script and its WAIT by ioredis', () => {
  it('are sent together, and answered with the reply and the number of replicas', async () => {
    client.answerPipeline = () =>
      Promise.resolve([
        [null, ['granted']],
        [null, 2],
      ]);
    await expect(connection.callAndWait(call, 1, 500)).resolves.toEqual({
      reply: ['granted'],
      replicas: 2,
    });
    expect(client.commands).toEqual([
      ['evalsha', 'abc', 2, 'k', 'l', '1'],
      ['wait', 1, 500],
    ]);
  });

  it('may be sent by source, and the number may be a string', async () => {
    client.answerPipeline = () =>
      Promise.resolve([
        [null, null],
        [null, '1'],
      ]);
    const answer = connection.callAndWait({ ...call, by: 'eval', script: 'return' }, 1, 500);
    await expect(answer).resolves.toEqual({ reply: null, replicas: 1 });
    expect(client.commands[0]).toEqual(['eval', 'return', 2, 'k', 'l', '1']);
  });

  it('fail with the error of either', async () => {
    const error = new Error('NOSCRIPT');
    client.answerPipeline = () =>
      Promise.resolve([
        [error, undefined],
        [null, 1],
      ]);
    await expect(connection.callAndWait(call, 1, 500)).rejects.toBe(error);
    client.answerPipeline = () =>
      Promise.resolve([
        [null, ['granted']],
        [error, undefined],
      ]);
    await expect(connection.callAndWait(call, 1, 500)).rejects.toBe(error);
    client.answerPipeline = () => Promise.reject(error);
    await expect(connection.callAndWait(call, 1, 500)).rejects.toBe(error);
  });

  it.each([[[]], [[[null, ['granted']]]]])(
    'fail where one of them has no answer: %j',
    async (answers) => {
      client.answerPipeline = () => Promise.resolve(answers as [Error | null, unknown][]);
      await expect(connection.callAndWait(call, 1, 500)).rejects.toThrow('gave no answer');
    },
  );

  it('fail where the connection is lost meanwhile, even if answers come afterwards', async () => {
    const answers = new Deferred<[Error | null, unknown][]>();
    client.answerPipeline = () => answers.promise;
    const outcome = watch(connection.callAndWait(call, 1, 500));
    client.emit('close');
    answers.resolve([
      [null, ['granted']],
      [null, 2],
    ]);
    await microtasks();
    expect(outcome.error?.message).toContain('connection was lost');
  });

  it('are sent again by nobody but who asks again', async () => {
    client.answerPipeline = () => new Deferred<[Error | null, unknown][]>().promise;
    const outcome = watch(connection.callAndWait(call, 1, 500));
    client.emit('close');
    client.emit('ready');
    await microtasks();
    expect(outcome.settled).toBe(true);
    expect(client.commands).toHaveLength(2);
  });
});

describe('a connection of ioredis', () => {
  it('is over when it does not come back by itself', () => {
    const isOver = ['ready', 'connecting', 'reconnecting', 'close', 'end'].map((status) => {
      client.status = status;
      return connection.isOver;
    });
    expect(isOver).toEqual([false, false, false, false, true]);
  });

  it('is closed at once', () => {
    connection.close();
    expect(client.commands).toEqual([['disconnect']]);
  });
});
