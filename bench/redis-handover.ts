import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { LockService } from 'nestjs-distributed-lock';
import { RedisLockDriver } from 'nestjs-distributed-lock/redis';
import type { Bench, Finding } from './support/bench.js';
import { warmUp } from './support/handover-warm-up.js';
import { RedisServer } from './support/redis-server.js';
import { spreadOf } from './support/spread.js';

const PEER = fileURLToPath(new URL('support/handover-peer.js', import.meta.url));
const KEY = 'bench';
const BY_HAND = 'by-hand';
const DELETE_AND_TELL = `redis.call('del', KEYS[1]) return redis.call('publish', KEYS[1], '')`;
const BLOCKS = 15;
const PER_BLOCK = 12;
/** Until what both sides do in a hand-over is compiled, as it is where a lock is contended. */
const WARM_UPS = 1500;
const BRIEFLY = 3;

/** Two processes: one gives a lock back for which the other waits. */
export const redisHandover: Bench = {
  name: 'redis-handover',
  about:
    'from a release in one process to the grant in another, in round trips (PING) of the same run',
  run: async () => {
    await using server = await RedisServer.start();
    if (server === undefined) {
      console.log('  skipped: there is no redis-server on the PATH');
      return [];
    }
    return await measure(server.port);
  },
};

async function measure(port: number): Promise<readonly Finding[]> {
  const redis = new Redis(port);
  const locks = new LockService(new RedisLockDriver(redis));
  const peer = fork(PEER, [String(port), BY_HAND]);
  try {
    const ready = once(peer, 'message');
    await locks.onModuleInit();
    await warmUp(locks, redis);
    await ready;
    for (let i = 0; i < WARM_UPS; i++) {
      await handOver(locks, peer, BRIEFLY);
      await handOverByHand(redis, peer, BRIEFLY);
    }
    const blocks: Block[] = [];
    for (let i = 0; i < BLOCKS; i++) {
      blocks.push(await block(locks, redis, peer));
    }
    return findings(blocks);
  } finally {
    peer.kill('SIGKILL');
    await locks[Symbol.asyncDispose]();
    redis.disconnect();
  }
}

/** What each took, in nanoseconds. */
interface Block {
  readonly ours: number;
  readonly byHand: number;
  readonly ping: number;
}

async function block(locks: LockService, redis: Redis, peer: ChildProcess): Promise<Block> {
  const ours: number[] = [];
  const byHand: number[] = [];
  const pings: number[] = [];
  for (let i = 0; i < PER_BLOCK; i++) {
    ours.push(await handOver(locks, peer));
    byHand.push(await handOverByHand(redis, peer));
    pings.push(await roundTrip(redis));
  }
  const [one, other, third] = [ours, byHand, pings].map((times) => spreadOf(times).median);
  return { ours: one as number, byHand: other as number, ping: third as number };
}

/** From the call of release() here to the grant there. */
async function handOver(locks: LockService, peer: ChildProcess, ms?: number): Promise<number> {
  const lock = await locks.acquire(KEY, { wait: '30s' });
  peer.send(KEY);
  // It tries, listens and tries again; then its pauses between two tries grow, and the release falls into one of them.
  await pause(ms);
  return untilGranted(peer, () => lock.release());
}

/** No owner, no expiry to look at, no token: a message, and the command that it is answered with. */
async function handOverByHand(redis: Redis, peer: ChildProcess, ms?: number): Promise<number> {
  await redis.set(BY_HAND, 'here', 'PX', 30_000, 'NX');
  await pause(ms);
  return untilGranted(peer, () => redis.eval(DELETE_AND_TELL, 1, BY_HAND));
}

async function untilGranted(peer: ChildProcess, release: () => Promise<unknown>): Promise<number> {
  const granted = once(peer, 'message') as Promise<[number]>;
  const from = now();
  await release();
  const [at] = await granted;
  return at - from;
}

async function roundTrip(redis: Redis): Promise<number> {
  await pause();
  const from = now();
  await redis.ping();
  return now() - from;
}

/** Processes that have slept for a while take longer to answer: so that all are alike, all have. */
function pause(ms = 20 + 20 * Math.random()): Promise<void> {
  return sleep(ms);
}

/** By the one clock that all processes of a machine have. */
function now(): number {
  return Number(process.hrtime.bigint());
}

function findings(blocks: readonly Block[]): readonly Finding[] {
  const ratio = (what: string, one: keyof Block, other: keyof Block): Finding => ({
    what,
    ...spreadOf(blocks.map((times) => times[one] / times[other])),
    unit: 'x',
    note: [one, other].map((name) => us(blocks.map((times) => times[name]))).join(' to '),
  });
  return [
    { ...ratio('a round trip', 'ours', 'ping'), target: { bound: 'below', value: 3 } },
    ratio('  control: PUBLISH and SET by hand', 'byHand', 'ping'),
    ratio('  of PUBLISH and SET by hand', 'ours', 'byHand'),
  ];
}

function us(ns: readonly number[]): string {
  return `${(spreadOf(ns).median / 1000).toFixed(0)} us`;
}
