import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { Redis } from 'ioredis';
import { PostgresLockDriver } from '../../lib/drivers/postgres/index.js';
import { RedisLockDriver } from '../../lib/drivers/redis/index.js';
import type { Leadership } from '../../lib/interfaces/leader-election.interface.js';
import { LeaderElection } from '../../lib/leader/leader-election.js';
import { LockService } from '../../lib/lock.service.js';
import { TermLog } from '../support/leader/term-log.js';
import { CallCounts } from './call-counts.js';
import type { Call, CandidateSetup, Look, Note, Reply } from './leader-process.calls.js';
import { TermWatch } from './term-watch.js';

/** A process of an application that stands for election, and tells what becomes of it. */
Logger.overrideLogger(false);
const setup = JSON.parse(process.argv[2] as string) as CandidateSetup;
const counts = new CallCounts();
const locks = new LockService({ driver: counts.watch(openDriver(setup)), drainTimeout: 0 });
const election = new LeaderElection(locks);
const watch = new TermWatch(new TermLog(setup.log));
let leadership: Leadership | undefined;

const answers: { readonly [Name in Call['name']]: () => unknown } = {
  boot: () => locks.onModuleInit(),
  stand: () => stand(),
  look: (): Look => ({
    isLeader: leadership?.isLeader ?? false,
    looks: watch.looks,
    asked: counts.asked,
    told: counts.told,
  }),
  resign: () => leadership?.resign(),
};

process.on('message', (call: Call) => void answer(call));
process.on('disconnect', () => process.exit());

function openDriver({ backend, url }: CandidateSetup): RedisLockDriver | PostgresLockDriver {
  return backend === 'redis'
    ? new RedisLockDriver(new Redis(url).on('error', () => undefined))
    : new PostgresLockDriver({ connectionString: url });
}

function stand(): void {
  const mine = election.campaign(setup.office, setup.options);
  leadership = mine;
  mine.changes$.subscribe((change) =>
    tell(
      change.isLeader
        ? { note: 'elected', at: now(), about: String(change.fencingToken) }
        : { note: 'deposed', at: now(), about: change.reason },
    ),
  );
  const timer = setInterval(() => watch.look(mine), 1);
  void mine.changes$.subscribe({ complete: () => clearInterval(timer) });
}

async function answer({ id, name }: Call): Promise<void> {
  try {
    const value: unknown = await answers[name]();
    tell({ id, value });
  } catch (error) {
    tell({ id, error: String(error) });
  }
}

function tell(message: Reply | Note): void {
  if (process.connected) {
    process.send?.(message);
  }
}

function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
