import { Injectable, Module } from '@nestjs/common';
import {
  currentLock,
  DistributedLockModule,
  InjectLockService,
  LockError,
  type LockHandle,
  lockKey,
  LockService,
  LockTimeoutError,
  MemoryLockDriver,
  WithLock,
} from 'nestjs-distributed-lock';
import { PostgresLockDriver, schema } from 'nestjs-distributed-lock/postgres';
import { TestLockDriver } from 'nestjs-distributed-lock/testing';
import { TypeOrmLockDriver } from 'nestjs-distributed-lock/typeorm';
import { Observable, of } from 'rxjs';

interface TransferOrder {
  readonly id: string;
  readonly from: string;
  readonly to: string;
}

@Injectable()
export class Transfers {
  constructor(
    private readonly locks: LockService,
    @InjectLockService('billing') readonly billing: LockService,
  ) {}

  @WithLock('order:<0>')
  pay(id: string): Promise<string> {
    return Promise.resolve(id);
  }

  @WithLock(['account:<0.from>', 'account:<0.to>'], { wait: '2s' })
  async transfer(order: TransferOrder): Promise<void> {
    const token: bigint | undefined = currentLock(lockKey`account:${order.from}`)?.fencingToken;
    void token;
  }

  @WithLock((order: TransferOrder) => lockKey`audit:${order.id}`)
  audit(order: TransferOrder): Observable<string> {
    return of(order.id);
  }

  @WithLock('nightly', { onBusy: 'skip', minHold: '1m' })
  async nightly(): Promise<void> {}

  @WithLock('rates:<0>', {
    onBusy: (currency: string) => [currency.length],
    onUnavailable: () => [],
  })
  async rates(currency: string): Promise<readonly number[]> {
    return [currency.length];
  }

  // @ts-expect-error TransferOrder has no `form`
  @WithLock('account:<0.form>')
  async misspelt(order: TransferOrder): Promise<void> {
    void order;
  }

  async work(id: string, signal: AbortSignal): Promise<bigint> {
    await using lock = await this.locks.acquire(lockKey`order:${id}`, {
      ttl: '30s',
      wait: 5_000,
      signal,
    });
    lock.assertHeld();
    return lock.fencingToken;
  }

  async tryWork(id: string): Promise<boolean> {
    const lock: LockHandle | null = await this.locks.tryAcquire(lockKey`order:${id}`);
    return lock !== null && (await lock.release());
  }

  async scoped(id: string): Promise<number> {
    const length: number = await this.locks.withLock(
      lockKey`order:${id}`,
      async (lock) => lock.keys.length,
    );
    return length + (await this.locks.withLock([id], { wait: 0 }, () => Promise.resolve(1)));
  }
}

export function explain(error: unknown): string {
  if (error instanceof LockTimeoutError) return `${error.code} ${error.owner} ${error.retryAfter}`;
  return error instanceof LockError ? `${error.code} ${error.statusCode}` : 'no lock error';
}

/** Without their clients' types: what a pool or a DataSource must have is told by the driver. */
export const onPostgres = (): PostgresLockDriver =>
  new PostgresLockDriver({ connectionString: schema({ table: 'locks' }), retention: '60s' });

export const onTypeOrm = (dataSource: {
  isInitialized: boolean;
  options: { type: 'postgres' };
  driver: object;
}): TypeOrmLockDriver => new TypeOrmLockDriver({ dataSource, notify: false });

@Module({
  imports: [
    DistributedLockModule.forRoot(new MemoryLockDriver({ singleProcess: true })),
    DistributedLockModule.forRoot({ driver: new TestLockDriver(), name: 'testing', ttl: '10s' }),
    DistributedLockModule.forRootAsync({
      name: 'billing',
      useFactory: () => ({ driver: new MemoryLockDriver(), ttl: '30s' }),
    }),
  ],
  providers: [Transfers],
})
export class AppModule {}
