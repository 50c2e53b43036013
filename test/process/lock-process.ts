import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { Redis } from 'ioredis';
import { RedisLockDriver } from '../../lib/drivers/redis/index.js';
import type { LockHandle } from '../../lib/interfaces/lock-handle.interface.js';
import { LockService } from '../../lib/lock.service.js';
import type { Call, CallOf, Look, Reply } from './lock-process.calls.js';

/** A process of an application that does with locks what its parent tells it to. */
Logger.overrideLogger(false);
const [url, node] = process.argv.slice(2) as [string, string];
const redis = new Redis(url);
const locks = new LockService({ driver: new RedisLockDriver(redis), node, drainTimeout: 0 });
let lock: LockHandle | undefined;

const answers: { readonly [Name in Call['name']]: (call: CallOf<Name>) => Promise<unknown> } = {
  boot: () => locks.onModuleInit(),
  acquire: async ({ key, options }) => {
    lock = await locks.acquire(key, options);
    return look();
  },
  look: () => Promise.resolve(look()),
  release: async () => lock?.release(),
  contend: async ({ key, waiters, ms }) => contend(key, waiters, ms),
  end: async () => {
    await locks[Symbol.asyncDispose]();
    redis.disconnect();
    process.disconnect();
  },
};

process.on('message', (call: Call) => void answer(call));
process.on('disconnect', () => process.exit());

async function answer(call: Call): Promise<void> {
  let reply: Reply;
  try {
    // The names of calls and answers go together.
    const value: unknown = await answers[call.name](call as never);
    reply = { id: call.id, value };
  } catch (error) {
    reply = { id: call.id, error: String(error) };
  }
  if (process.connected) {
    process.send?.(reply);
  }
}

function look(): Look {
  return {
    at: wallClock(),
    held: lock?.held ?? false,
    aborted: lock?.signal.aborted ?? false,
    token: String(lock?.fencingToken ?? 0),
    owner: lock?.owner ?? '',
  };
}

/** So many callers take the lock in turn, each again and again, for so long; gives all turns. */
async function contend(key: string, waiters: number, ms: number): Promise<Float64Array> {
  const until = Date.now() + ms;
  const turns: number[] = [];
  const loop = async (waiter: number): Promise<void> => {
    while (Date.now() < until) {
      const mine = await locks.acquire(key, { wait: '60s' });
      const from = wallClock();
      await sleep(1);
      mine.assertHeld();
      turns.push(waiter, Number(mine.fencingToken), from, wallClock());
      await mine.release();
    }
  };
  await Promise.all(Array.from({ length: waiters }, (_, waiter) => loop(waiter)));
  return Float64Array.from(turns);
}

/** Finer than a millisecond, and the same in all processes of a machine. */
function wallClock(): number {
  return performance.timeOrigin + performance.now();
}
