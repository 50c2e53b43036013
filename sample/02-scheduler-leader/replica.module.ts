import { type DynamicModule, Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { DistributedLockModule } from 'nestjs-distributed-lock';
import { ReplicaReporter } from './replica.reporter.js';
import { SchedulerService } from './scheduler.service.js';
import type { Store } from './store.js';
import { TicksRepository } from './ticks.repository.js';

/** The application; all of its replicas are the same but for their names. */
@Module({})
export class ReplicaModule {
  static forRoot(node: string, { driver, ticks }: Pick<Store, 'driver' | 'ticks'>): DynamicModule {
    return {
      module: ReplicaModule,
      imports: [
        ScheduleModule.forRoot(),
        DistributedLockModule.forRoot({
          driver,
          node,
          namespace: 'scheduler-leader',
          // A leader that is killed is missed for as long. Without this it is the module's ttl, 30 seconds.
          leader: { ttl: '2s' },
        }),
      ],
      providers: [{ provide: TicksRepository, useValue: ticks }, ReplicaReporter, SchedulerService],
    };
  }
}
