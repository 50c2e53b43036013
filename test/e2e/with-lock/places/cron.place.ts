import { type INestApplicationContext, Inject, Injectable, Logger } from '@nestjs/common';
import { Cron, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { LockService, WithLock } from 'nestjs-distributed-lock';
import { Observable } from 'rxjs';
import { expect, vi } from 'vitest';
import { Stage } from '../../../support/stage.js';
import { boot } from '../../module/support.js';
import { KEY, type Kind, moduleOf, type Outcome, type Place } from './place.js';

const NEVER = '0 0 29 2 *';

@Injectable()
class StageJobs {
  constructor(@Inject(Stage) private readonly stage: Stage) {}

  @Cron(NEVER, { name: 'promise', waitForCompletion: true })
  @WithLock(KEY)
  promise(): Promise<string> {
    return this.stage.promise();
  }

  @Cron(NEVER, { name: 'observable', waitForCompletion: true })
  @WithLock(KEY)
  observable(): Observable<string> {
    return this.stage.observable();
  }

  @Cron(NEVER, { name: 'promiseOfObservable', waitForCompletion: true })
  @WithLock(KEY)
  promiseOfObservable(): Promise<Observable<string>> {
    return this.stage.promiseOfObservable();
  }
}

/** Lets the job run as its clock would; nobody gets what it returns, and its errors are logged. */
async function tick(app: INestApplicationContext, kind: Kind): Promise<Outcome> {
  const logged = vi.spyOn(Logger.prototype, 'error');
  const before = logged.mock.calls.length;
  await app.get(SchedulerRegistry).getCronJob(kind).fireOnTick();
  const [error] = logged.mock.calls
    .slice(before)
    .flat()
    .filter((argument: unknown) => argument instanceof Error);
  return error === undefined ? { value: undefined } : { error };
}

/** A cron job, of which each tick runs on another replica. */
export const cronPlace: Place = {
  async open(setUp) {
    const metadata = moduleOf(setUp, {
      imports: [ScheduleModule.forRoot()],
      providers: [StageJobs],
    });
    const replicas = [await boot(metadata), await boot(metadata)] as const;
    let ticks = 0;
    return {
      locks: replicas.map((app) => app.get(LockService)),
      call: (kind) => tick(replicas[ticks++ % 2 === 0 ? 0 : 1], kind),
      ping: () => new Promise((resolve) => setImmediate(resolve)),
      close: () => Promise.all(replicas.map((app) => app.close())),
    };
  },
  value: () => ({ value: undefined }),
  lockError: (statusCode, code) => ({ error: expect.objectContaining({ statusCode, code }) }),
  ownError: (error) => ({ error }),
};
