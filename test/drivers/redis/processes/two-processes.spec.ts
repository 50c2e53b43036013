import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../../support/redis/eventually.js';
import { LockProcess } from '../../../support/redis/lock-process.js';
import { Program } from '../../../support/redis/program.js';
import { RedisServer } from '../../../support/redis/redis-server.js';
import { TcpProxy } from '../../../support/redis/tcp-proxy.js';
import { inTime } from '../../../support/redis/timed.js';
import { hasRedisProgram, redisProgram } from '../../../support/redis/use-redis.js';

/** Nobody comes back by himself in the time of a test. */
const NO_POLLS = { min: '60s', max: '60s' } as const;

describe.skipIf(!hasRedisProgram)('two processes', { timeout: 60_000 }, () => {
  let program: Program;
  let server: RedisServer;
  let proxy: TcpProxy;
  let one: LockProcess;
  let two: LockProcess;

  beforeAll(async () => {
    program = await Program.build('lock-process');
    server = await RedisServer.start(redisProgram);
    proxy = await TcpProxy.start(server);
    [one, two] = await Promise.all([
      LockProcess.start(program, server, 'one'),
      LockProcess.start(program, proxy, 'two'),
    ]);
  }, 60_000);
  afterAll(async () => {
    await one[Symbol.asyncDispose]();
    await two[Symbol.asyncDispose]();
    await proxy.stop();
    await server.stop();
    await program[Symbol.asyncDispose]();
  });

  /** The second process tries, listens, and tries again; when it is heard for sure it tries once more, and only waits from then on. */
  async function untilItWaits(): Promise<void> {
    await eventually('it has tried three times', () => calls() === 3);
    await eventually('nothing is under way', () =>
      server.command('PING').then(() => calls() === 3),
    );
  }

  const calls = (): number => proxy.count('EVALSHA') + proxy.count('EVAL');

  /** Whether somebody has left his mark in the record. */
  async function isWanted(key: string): Promise<boolean> {
    const mark = await server.command('GETRANGE', `lock:${key}`, 17, 24);
    return mark !== '\0'.repeat(8);
  }

  it('hand over by one notice, and not by a poll', async () => {
    const first = await one.acquire('a');
    proxy.resetCounts();
    const waiting = two.acquire('a', { wait: '50s', retry: NO_POLLS });
    await untilItWaits();
    await expect(one.release()).resolves.toBe(true);
    const second = await inTime(waiting, 10_000);
    expect(Number(second.token)).toBeGreaterThan(Number(first.token));
    expect(calls()).toBe(4);
    await two.release();
  });

  it('hand over a lock again and again, in turn', async () => {
    let last = 0;
    for (let i = 0; i < 20; i++) {
      const [holder, waiter] = i % 2 ? [one, two] : [two, one];
      await holder.acquire('b');
      const waiting = waiter.acquire('b', { wait: '50s', retry: NO_POLLS });
      await eventually('it waits', () => isWanted('b'));
      await holder.release();
      const { token } = await inTime(waiting, 10_000);
      expect(Number(token)).toBeGreaterThan(last);
      last = Number(token);
      await waiter.release();
    }
  });

  it('pass on what a process held that was killed, when its ttl is over', async () => {
    await using killed = await LockProcess.start(program, server, 'killed');
    const first = await killed.acquire('c', { ttl: '1s' });
    const waiting = two.acquire('c', { wait: '50s', retry: NO_POLLS });
    await eventually('it waits', () => isWanted('c'));
    await killed.kill();
    const second = await inTime(waiting, 20_000);
    expect(second.at - first.at).toBeGreaterThanOrEqual(950);
    expect(Number(second.token)).toBeGreaterThan(Number(first.token));
    await two.release();
  });

  it('know at the first look that a lock was lost while the process stood still', async () => {
    await using paused = await LockProcess.start(program, server, 'paused');
    const first = await paused.acquire('d', { ttl: '1s' });
    const waiting = two.acquire('d', { wait: '50s' });
    await paused.pause();
    const second = await inTime(waiting, 20_000);
    expect(second.held).toBe(true);
    const look = paused.look();
    paused.resume();
    await expect(look).resolves.toMatchObject({ held: false, token: first.token });
    await eventually('its signal has fired', async () => (await paused.look()).aborted);
    await expect(paused.release()).resolves.toBe(false);
    await expect(two.look()).resolves.toMatchObject({ held: true });
    await two.release();
  });
});
