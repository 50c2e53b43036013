import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { Redis } from 'ioredis';
import { PostgresLockDriver } from '../../lib/drivers/postgres/index.js';
import { RedisLockDriver } from '../../lib/drivers/redis/index.js';
import { StaleFencingTokenError } from '../../lib/errors/stale-fencing-token.error.js';
import { FencingGate } from '../../lib/fencing/fencing-gate.js';
import type { Leadership } from '../../lib/interfaces/leader-election.interface.js';
import type { LockDriver } from '../../lib/interfaces/lock-driver.interface.js';
import { LeaderElection } from '../../lib/leader/leader-election.js';
import { LockService } from '../../lib/lock.service.js';
import { TermLog } from '../support/leader/term-log.js';
import { CallCounts } from './call-counts.js';
import type { Call, CallOf, CandidateSetup, Look, Note, Reply } from './leader-process.calls.js';
import { type Admit, type Ledger, PostgresLedger, RedisLedger } from './ledger.js';
import { TermWatch } from './term-watch.js';

/** A process of an application that stands for election, and tells what becomes of it. */
Logger.overrideLogger(false);
const setup = JSON.parse(process.argv[2] as string) as CandidateSetup;
const counts = new CallCounts();
const { driver, ledger } = open(setup);
const locks = new LockService({
  driver: counts.watch(driver),
  drainTimeout: 0,
  ...(setup.retry && { retry: setup.retry }),
});
const gate = new FencingGate(locks);
const election = LeaderElection.of(locks);
const watch = new TermWatch(new TermLog(setup.log));
let leadership: Leadership | undefined;

const answers: { readonly [Name in Call['name']]: (call: CallOf<Name>) => unknown } = {
  boot: () => locks.onModuleInit(),
  stand: () => stand(),
  look: (): Look => ({
    isLeader: leadership?.isLeader ?? false,
    looks: watch.looks,
    asked: counts.asked,
    answered: counts.answered,
    told: counts.told,
  }),
  resign: () => leadership?.resign(),
  write: (call) => write(call),
};

process.on('message', (call: Call) => void answer(call));
process.on('disconnect', () => process.exit());

function open({ backend, url, office }: CandidateSetup): { driver: LockDriver; ledger: Ledger } {
  if (backend === 'postgres') {
    return {
      driver: new PostgresLockDriver({ connectionString: url }),
      ledger: new PostgresLedger(url, office),
    };
  }
  const redis = new Redis(url).on('error', () => undefined);
  return { driver: new RedisLockDriver(redis), ledger: new RedisLedger(redis, office) };
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

/** As a real leader does: it makes sure that it leads, and then writes, whenever that comes to be. */
async function write({ gated, stops }: CallOf<'write'>): Promise<string> {
  const { fencingToken, nodeId } = leadership as Leadership;
  if (stops) {
    process.kill(process.pid, 'SIGSTOP');
  }
  const admit: Admit = async (transaction) => {
    await (gated && gate.admit(`ledger:${setup.office}`, fencingToken, transaction));
  };
  try {
    await ledger.write(nodeId, admit);
    return 'written';
  } catch (error) {
    if (error instanceof StaleFencingTokenError) {
      return error.code;
    }
    throw error;
  }
}

async function answer(call: Call): Promise<void> {
  const { id, name } = call;
  try {
    // The names of calls and answers go together.
    const value: unknown = await answers[name](call as never);
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
