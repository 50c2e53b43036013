import { type Collection, MongoClient } from 'mongodb';
import { LockService } from 'nestjs-distributed-lock';
import { MongoLockDriver } from 'nestjs-distributed-lock/mongo';
import type { Bench, Finding } from './support/bench.js';
import { cpuTime } from './support/cpu-time.js';
import { spreadOf } from './support/spread.js';
import type { Turn } from './support/ways.js';

const SETS = 15;
const TURNS = 50;
const WAITERS = 50;
const TTL = 30_000;

interface Cost {
  readonly cpu: number;
  readonly wall: number;
}

/**
 * Two bare commands are as little as a lock can cost. What the server takes is in the wall clock alone; what is in the
 * CPU time is the client's and ours.
 */
export const mongo: Bench = {
  name: 'mongo',
  about:
    'MongoLockDriver of two bare commands, on the server of MONGODB_URL; without one there is nothing to measure',
  run: async () => {
    const url = process.env['MONGODB_URL'];
    if (!url) {
      return [];
    }
    const client = new MongoClient(url, { monitorCommands: true });
    try {
      return await measure(client);
    } finally {
      await client.close();
    }
  },
};

async function measure(client: MongoClient): Promise<Finding[]> {
  const db = client.db('nestjs-distributed-lock-bench');
  const locks = new LockService({ driver: new MongoLockDriver(db), ttl: TTL });
  await locks.onModuleInit();
  const bare = bareTurn(db.collection('bare'));
  const turn: Turn = async () => (await locks.acquire('bench')).release();
  const findings = [...(await compare(bare, turn)), await handedOver(client, locks)];
  await locks[Symbol.asyncDispose]();
  return findings;
}

/** Takes and gives back, without a look at who has it. */
function bareTurn(collection: Collection<{ _id: string; owner: string | null }>): Turn {
  const writeConcern = { w: 'majority', wtimeoutMS: 5000 } as const;
  return async () => {
    const take = [{ $set: { owner: { $literal: 'bench' }, expiry: { $add: ['$$NOW', TTL] } } }];
    await collection.findOneAndUpdate({ _id: 'bench' }, take, { upsert: true, writeConcern });
    const give = [{ $set: { owner: { $literal: null } } }];
    await collection.findOneAndUpdate({ _id: 'bench', owner: 'bench' }, give, { writeConcern });
  };
}

async function compare(bare: Turn, turn: Turn): Promise<Finding[]> {
  const sets: [Cost, Cost, Cost][] = [];
  for (let set = 0; set < SETS; set++) {
    sets.push([await costOf(bare), await costOf(turn), await costOf(bare)]);
  }
  const ratio = (what: string, which: 1 | 2, by: keyof Cost): Finding => ({
    what,
    ...spreadOf(sets.map((costs) => costs[0][by] / costs[which][by])),
    unit: 'x',
    note: `${spreadOf(sets.map((costs) => costs[which][by])).median.toFixed(0)} us`,
  });
  return [
    ratio('acquire + release, by the wall clock', 1, 'wall'),
    ratio('  control: the bare commands again', 2, 'wall'),
    ratio('acquire + release, CPU time of this process', 1, 'cpu'),
    ratio('  control: the bare commands again', 2, 'cpu'),
  ];
}

const perTurn = (ms: number): number => (ms * 1000) / TURNS;

/** Microseconds per turn. */
async function costOf(turn: Turn): Promise<Cost> {
  const start = { cpu: cpuTime(), wall: performance.now() };
  for (let i = 0; i < TURNS; i++) {
    await turn();
  }
  return { cpu: perTurn(cpuTime() - start.cpu), wall: perTurn(performance.now() - start.wall) };
}

async function handedOver(client: MongoClient, locks: LockService): Promise<Finding> {
  let commands = 0;
  client.on('commandStarted', () => commands++);
  const turn: Turn = () => locks.withLock('hot', { wait: Infinity }, () => Promise.resolve());
  await Promise.all(Array.from({ length: WAITERS }, turn));
  return {
    what: `commands per turn, ${WAITERS} waiters of one key`,
    median: commands / WAITERS,
    unit: '',
    note: 'without hand-over it would be 2',
  };
}
