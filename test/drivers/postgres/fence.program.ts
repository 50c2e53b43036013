import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresLockDriver } from '../../../lib/drivers/postgres/index.js';
import { SMALLEST_RETENTION } from '../../../lib/drivers/postgres/timeouts.js';

/** What a process was granted: the owner, and the first and the last token. */
export type Granted = readonly [owner: string, first: number, last: number];

/** What to do from now on. No keys: rest, and tell what was granted since the last rest. */
export interface Order {
  readonly keys: readonly string[];
  /** Whether to take new locks too, so that there is something to clean up. */
  readonly newcomers?: boolean;
}

/** A second of tokens, as far as there are so many. */
const TOKENS = 1_000_000;
const WORKERS = 3;

const [id = '', connectionString = ''] = process.argv.slice(2);
const driver = new PostgresLockDriver({ connectionString, retention: SMALLEST_RETENTION });
const granted: Granted[] = [];
let order: Order = { keys: [] };
let working: Promise<unknown> = Promise.resolve();
let count = 0;

process.on('message', (given: Order) => {
  order = given;
  working = given.keys.length > 0 ? work() : rest(working);
});
// Its test may have been killed.
process.once('disconnect', () => process.exit());
await driver.connect();
process.send?.('ready');

async function work(): Promise<void> {
  await Promise.all([...Array.from({ length: WORKERS }, takeTurns), takeNew()]);
}

async function rest(end: Promise<unknown>): Promise<void> {
  await end;
  process.send?.(granted.splice(0));
}

/** A statement that fails because of the delays has granted nothing that this process knows of. */
async function takeTurns(): Promise<void> {
  while (order.keys.length > 0) {
    const key = order.keys[Math.floor(Math.random() * order.keys.length)] as string;
    await takeTurn(key, `${id}#${count++}`).catch(() => undefined);
  }
}

async function takeTurn(key: string, owner: string): Promise<void> {
  const ttl = 50 + Math.random() * 100;
  const answer = await driver.acquire({ key, owner, ttl, tokens: TOKENS });
  if ('firstToken' in answer) {
    const { firstToken, tokens } = answer;
    granted.push([owner, firstToken, firstToken + tokens - 1]);
    await (Math.random() < 0.9 ? driver.release({ key, owner }) : undefined);
  }
}

async function takeNew(): Promise<void> {
  while (order.newcomers) {
    const leases = Array.from({ length: 25 }, () => ({ key: `new:${id}:${count++}`, owner: id }));
    await Promise.allSettled(leases.map((lease) => driver.acquire({ ...lease, ttl: 1 })));
    await sleep(50);
  }
}
