import { fork } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Program } from '../../../support/redis/program.js';
import { startReplica } from '../../../support/redis/redis-replica.js';
import { RedisServer } from '../../../support/redis/redis-server.js';
import { inTime } from '../../../support/redis/timed.js';
import { hasRedisProgram, redisProgram } from '../../../support/redis/use-redis.js';

describe.skipIf(!hasRedisProgram)('after shutdown', { timeout: 60_000 }, () => {
  let program: Program;
  let server: RedisServer;
  let replica: RedisServer;

  beforeAll(async () => {
    program = await Program.build('ends-by-itself');
    server = await RedisServer.start(redisProgram);
    replica = await startReplica(redisProgram, server);
  }, 60_000);
  afterAll(async () => {
    await replica.stop();
    await server.stop();
    await program[Symbol.asyncDispose]();
  });

  it.concurrent.each(
    ['ioredis', 'node-redis'].flatMap((library) =>
      ['released', 'held', 'late', 'replicas', 'late, with replicas'].map(
        (mode) => [library, mode] as const,
      ),
    ),
  )('nothing keeps the process alive: %s, %s', async (library, mode) => {
    const child = fork(program.path, [library, server.url, mode], { stdio: 'pipe' });
    let output = '';
    child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const exited = once(child, 'exit');
    try {
      const [code] = (await inTime(exited, 20_000)) as [number];
      expect([code, output]).toEqual([0, expect.not.stringMatching(/Error/)]);
    } finally {
      child.kill('SIGKILL');
    }
  });
});
