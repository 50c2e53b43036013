import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { LockService } from 'nestjs-distributed-lock';
import { PostgresLockDriver } from 'nestjs-distributed-lock/postgres';
import { Client } from 'pg';
import type { Finding } from './bench.js';
import { spreadOf } from './spread.js';

const HOLD_MS = 4;
const ROUNDS = 7;
const UPSERTS = 80;
const TURNS = 40;
const POLLED_TURNS = 15;
const [mode, url = '', notify = '', turns = ''] = process.argv.slice(2);

/** When a process got the lock, and when it gave it back, by the clock that all processes of a machine share. */
interface Held {
  readonly from: number;
  readonly until: number;
}

if (mode === '--handover') {
  const locks = await open(url, notify === 'true');
  process.send?.('ready');
  await once(process, 'message');
  const held = await holdInTurns(locks, Number(turns));
  process.send?.(held, () => process.disconnect());
}

/** How long it takes from a release in one process to the grant in another that waits. */
export async function handover(connectionString: string): Promise<Finding[]> {
  const rounds: { readonly upsert: number; readonly noticed: number }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const upsert = spreadOf(await upserts(connectionString)).median;
    rounds.push({ upsert, noticed: spreadOf(await gaps(connectionString, true, TURNS)).median });
  }
  const polled = spreadOf(await gaps(connectionString, false, POLLED_TURNS));
  return [
    {
      what: 'an upsert that waits for the disk',
      ...spreadOf(rounds.map(({ upsert }) => upsert)),
      unit: 'ms',
    },
    {
      what: 'hand-over between two processes, with NOTIFY',
      ...spreadOf(rounds.map(({ noticed }) => noticed)),
      unit: 'ms',
    },
    {
      what: '  of an upsert',
      ...spreadOf(rounds.map(({ noticed, upsert }) => noticed / upsert)),
      unit: 'x',
      target: { bound: 'below', value: 3 },
    },
    {
      what: 'hand-over between two processes, without NOTIFY',
      ...polled,
      unit: 'ms',
      target: { bound: 'below', value: 960 },
      note: 'bounded by the longest pause, 800 ms and 20 %',
    },
  ];
}

/** Each after a pause like that before a release: a process that has just been busy is faster. */
async function upserts(connectionString: string): Promise<number[]> {
  const client = new Client({ connectionString });
  await client.connect();
  await client.query('CREATE TABLE IF NOT EXISTS upsert (key text PRIMARY KEY, n bigint)');
  const text = `INSERT INTO upsert VALUES ($1, 1) ON CONFLICT (key) DO UPDATE SET n = upsert.n + 1`;
  const times: number[] = [];
  for (let i = 0; i < UPSERTS; i++) {
    await sleep(HOLD_MS);
    const start = now();
    await client.query({ name: 'upsert', text, values: ['key'] });
    times.push(now() - start);
  }
  await client.end();
  return times;
}

/** From each release to the grant that followed it in the other process; both begin together. */
async function gaps(
  connectionString: string,
  withNotify: boolean,
  count: number,
): Promise<number[]> {
  const child = fork(fileURLToPath(import.meta.url), [
    '--handover',
    connectionString,
    String(withNotify),
    String(count),
  ]);
  const locks = await open(connectionString, withNotify);
  await once(child, 'message');
  child.send('go');
  const [ours, [theirs]] = await Promise.all([
    holdInTurns(locks, count),
    once(child, 'message') as Promise<[Held[]]>,
  ]);
  const all = [
    ...ours.map((held) => ({ ...held, mine: true })),
    ...theirs.map((held) => ({ ...held, mine: false })),
  ].toSorted((a, b) => a.from - b.from);
  return all.flatMap((held, i) => {
    const before = all[i - 1];
    return before !== undefined && before.mine !== held.mine ? [held.from - before.until] : [];
  });
}

async function open(connectionString: string, withNotify: boolean): Promise<LockService> {
  const driver = new PostgresLockDriver({ connectionString, notify: withNotify });
  const locks = new LockService({ driver, drainTimeout: 0 });
  await locks.onModuleInit();
  return locks;
}

async function holdInTurns(locks: LockService, count: number): Promise<Held[]> {
  const held: Held[] = [];
  for (let i = 0; i < count; i++) {
    const lock = await locks.acquire('handover', { wait: Infinity });
    const from = now();
    await sleep(HOLD_MS);
    held.push({ from, until: now() });
    await lock.release();
  }
  await locks[Symbol.asyncDispose]();
  return held;
}

function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
