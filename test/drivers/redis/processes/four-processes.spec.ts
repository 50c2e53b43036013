import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Turn } from '../../../process/lock-process.calls.js';
import { LockProcess } from '../../../support/redis/lock-process.js';
import { Program } from '../../../support/redis/program.js';
import { RedisServer } from '../../../support/redis/redis-server.js';
import { hasRedisProgram, redisProgram } from '../../../support/redis/use-redis.js';

const PROCESSES = 4;
const WAITERS = 25;
const MS = 5_000;

/** Clocks of processes agree to within the time that it takes to read them. */
const CLOCKS = 0.5;

describe.skipIf(!hasRedisProgram)('four processes', { timeout: 60_000 }, () => {
  let program: Program;
  let server: RedisServer;
  let processes: readonly LockProcess[];

  beforeAll(async () => {
    program = await Program.build('lock-process');
    server = await RedisServer.start(redisProgram);
    processes = await Promise.all(
      Array.from({ length: PROCESSES }, (_, i) => LockProcess.start(program, server, `node-${i}`)),
    );
  }, 60_000);
  afterAll(async () => {
    await Promise.all(processes.map((process) => process[Symbol.asyncDispose]()));
    await server.stop();
    await program[Symbol.asyncDispose]();
  });

  it('share a lock fairly, one caller at a time, and leave nobody out', async () => {
    const turns = await Promise.all(
      processes.map((process) => process.contend('shared', WAITERS, MS)),
    );
    const all = turns.flat();
    const shares = turns.map(({ length }) => length / all.length);
    const served = turns.map((mine) => new Set(mine.map(({ waiter }) => waiter)).size);
    expect(served).toEqual(processes.map(() => WAITERS));
    expect(overlaps(all)).toEqual([]);
    expect(Math.min(...shares), `shares ${shares.join(' ')}`).toBeGreaterThan(0.15);
    expect(Math.max(...shares), `shares ${shares.join(' ')}`).toBeLessThan(0.35);
  });
});

/** Turns that began before the one with the token before them had ended. */
function overlaps(turns: readonly Turn[]): readonly (readonly Turn[])[] {
  const sorted = turns.toSorted((a, b) => a.token - b.token);
  return sorted
    .slice(1)
    .map((turn, i): [Turn, Turn] => [sorted[i] as Turn, turn])
    .filter(([one, next]) => next.token <= one.token || next.from < one.to - CLOCKS);
}
