import type { INestApplicationContext, Type } from '@nestjs/common';
import { DistributedLockModule, LeaderElection, type LockDriver } from 'nestjs-distributed-lock';
import type { LockServiceOptions } from '../../../lib/interfaces/distributed-lock-module-options.interface.js';
import { Deferred } from '../../support/deferred.js';
import { boot } from '../module/support.js';

/** A replica of an application, as it stands beside others on one backend. */
export function replica(
  driver: LockDriver,
  node: string,
  providers: readonly Type[],
  options: Partial<LockServiceOptions> = {},
): Promise<INestApplicationContext> {
  return boot({
    imports: [DistributedLockModule.forRoot({ driver, node, ...options })],
    providers: [...providers],
  });
}

/** Resolves when this replica leads. */
export async function untilLeader(app: INestApplicationContext, name: string): Promise<void> {
  const elected = new Deferred();
  const subscription = app
    .get(LeaderElection)
    .campaign(name)
    .changes$.subscribe(({ isLeader }) => isLeader && elected.resolve());
  await elected.promise;
  subscription.unsubscribe();
}
