import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DistributedLockModule, LockService, WithLock } from 'nestjs-distributed-lock';
import { TypeOrmLockDriver } from 'nestjs-distributed-lock/typeorm';
import { DataSource } from 'typeorm';
import { beforeAll, describe, expect, it } from 'vitest';
import { usePostgres } from '../../support/postgres/use-postgres.js';

const database = usePostgres();

beforeAll(() => database.query('CREATE TABLE account (id integer PRIMARY KEY, balance integer)'));

@Injectable()
class Accounts {
  constructor(private readonly db: DataSource) {}

  /** Reads, thinks and writes: without the lock most of it would be lost. */
  @WithLock('account:<0>', { wait: '30s' })
  async deposit(id: number, amount: number): Promise<void> {
    await this.db.transaction(async (transaction) => {
      const [row] = await transaction.query<{ balance: number }[]>(
        'SELECT balance FROM account WHERE id = $1',
        [id],
      );
      await transaction.query('SELECT pg_sleep(0.002)');
      await transaction.query('UPDATE account SET balance = $2 WHERE id = $1', [
        id,
        (row?.balance ?? 0) + amount,
      ]);
    });
  }
}

const orm = TypeOrmModule.forRoot({ type: 'postgres', url: database.url, poolSize: 2 });
const locks = DistributedLockModule.forRootAsync({
  inject: [DataSource],
  useFactory: (dataSource: DataSource) => ({ driver: new TypeOrmLockDriver(dataSource) }),
});

@Module({ imports: [orm, locks], providers: [Accounts] })
class OrmFirst {}

@Module({ imports: [locks, orm], providers: [Accounts] })
class LocksFirst {}

describe.each([OrmFirst, LocksFirst])('an application with TypeOrmModule: %o', (AppModule) => {
  it('locks by the DataSource that it has, and shuts down', async () => {
    await database.query('TRUNCATE account; INSERT INTO account VALUES (1, 0)');
    const apps = await Promise.all(
      [1, 2].map(() => Test.createTestingModule({ imports: [AppModule] }).compile()),
    );
    await Promise.all(apps.map((app) => app.init()));
    const deposits = apps.map((app) => app.get(Accounts)).flatMap((each) => Array(20).fill(each));
    await Promise.all(deposits.map((accounts: Accounts) => accounts.deposit(1, 1)));
    expect(await database.query('SELECT balance FROM account')).toEqual([{ balance: 40 }]);
    const [first] = apps;
    const held = await first?.get(LockService).acquire('at shutdown');
    await held?.release();
    await Promise.all(apps.map((app) => app.close()));
    const [left] = await database.query(
      `SELECT count(*)::int AS n FROM distributed_lock WHERE expires > 0`,
    );
    expect(left).toEqual({ n: 0 });
  });
});
