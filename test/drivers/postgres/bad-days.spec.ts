import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { APPLICATION_NAME } from '../../../lib/drivers/postgres/client-factory.js';
import type { PostgresLockDriver } from '../../../lib/drivers/postgres/index.js';
import { LockService } from '../../../lib/lock.service.js';
import { Meddler } from '../../support/postgres/meddler.js';
import { PostgresServer } from '../../support/postgres/postgres-server.js';
import { databaseAt, type TestDatabase } from '../../support/postgres/use-postgres.js';
import { useDrivers } from '../../support/postgres/use-drivers.js';

const HOUR = 3_600_000;

let server: PostgresServer;
let database: TestDatabase;
beforeAll(async () => {
  server = await PostgresServer.start();
  database = databaseAt(server.url());
});
afterAll(() => server.stop());

const newDriver = useDrivers(() => ({ connectionString: server.url() }));
let driver: PostgresLockDriver;
let service: LockService;
beforeEach(async () => {
  driver = newDriver();
  service = new LockService({ driver, drainTimeout: 0 });
  await service.onModuleInit();
});
afterEach(() => service[Symbol.asyncDispose]());

let count = 0;
const newLease = (): { key: string; owner: string; ttl: number } => {
  count++;
  return { key: `key:${count}`, owner: `a:1#${count}`, ttl: HOUR };
};

const tick = (): Promise<unknown> => new Promise((resolve) => setImmediate(resolve));

const connections = async (): Promise<number> => {
  const [row] = await database.query(
    `SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = $1`,
    [APPLICATION_NAME],
  );
  return row?.['n'] as number;
};

/** Ends our connections as a failover does; gives how many. */
async function cutConnections(): Promise<number> {
  const cut = await database.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1`,
    [APPLICATION_NAME],
  );
  return cut.length;
}

const waitingForALock = async (): Promise<number> => {
  const [row] = await database.query(
    `SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'`,
    [APPLICATION_NAME],
  );
  return row?.['n'] as number;
};

describe('a server that is killed', () => {
  it('gives an error that says so, and is used again when it is back', async () => {
    const lease = newLease();
    await driver.acquire(lease);
    await server.kill();
    await expect(driver.acquire(newLease())).rejects.toHaveProperty('code', 'LOCK_DRIVER');
    await expect(driver.renew([lease])).rejects.toHaveProperty('code', 'LOCK_DRIVER');
    await expect(driver.release(lease)).rejects.toHaveProperty('code', 'LOCK_DRIVER');
    await expect(driver.inspect(lease.key)).rejects.toHaveProperty('code', 'LOCK_DRIVER');
    await server.startAgain();
    expect(await driver.renew([lease])).toEqual([{ renewed: true }]);
    expect(await driver.release(lease)).toEqual({ released: true });
    expect(await driver.inspect(lease.key)).toBeNull();
  });

  it('fails those who do not wait for it, and lets others wait for its return', async () => {
    const held = await service.acquire('killed', { ttl: HOUR });
    await server.kill('SIGINT');
    await expect(service.acquire('killed too', { wait: 200 })).rejects.toHaveProperty(
      'code',
      'LOCK_DRIVER',
    );
    const waiting = service.acquire('killed as well', { wait: 30_000 });
    const releasing = held.release();
    await server.startAgain();
    expect(await (await waiting).release()).toBe(true);
    await releasing;
    await expect.poll(() => service.inspect('killed')).toBeNull();
  });

  it('does not cost the lock of a holder if it is back before the lease ends', async () => {
    const held = await service.acquire('outlives', { ttl: 12_000 });
    await server.kill();
    await server.startAgain();
    let renewals = 0;
    const listening = service.events$.subscribe(
      ({ type }) => (renewals += Number(type === 'renewed')),
    );
    await expect.poll(() => renewals).toBeGreaterThan(0);
    listening.unsubscribe();
    expect(held.held).toBe(true);
    expect(await held.release()).toBe(true);
  });
});

describe('connections that are cut', () => {
  it('are opened again, idle ones without anybody noticing', async () => {
    const lease = newLease();
    await driver.acquire(lease);
    await driver.acquire({ ...lease, owner: 'b:1#1', wantFor: HOUR });
    await expect.poll(connections).toBe(3);
    expect(await cutConnections()).toBe(3);
    await expect
      .poll(async () => (await driver.renew([lease]).catch(() => []))[0])
      .toEqual({ renewed: true });
    expect(await driver.acquire(newLease())).toHaveProperty('firstToken');
    expect(await driver.release(lease)).toMatchObject({ released: true });
  });

  it('leave nothing locked by a statement that was under way', async () => {
    const lease = newLease();
    await driver.acquire(lease);
    await driver.release(lease);
    const meddler = await Meddler.lock(server.url(), [lease.key]);
    const waiting = service.acquire(lease.key, { ttl: HOUR, wait: 30_000 });
    await expect.poll(waitingForALock).toBeGreaterThan(0);
    await cutConnections();
    await meddler[Symbol.asyncDispose]();
    const lock = await waiting;
    expect((await service.inspect(lease.key))?.owner).toBe(lock.owner);
    expect(await lock.release()).toBe(true);
    await expect.poll(() => service.inspect(lease.key)).toBeNull();
  });

  it('again and again do not break the exclusion', async () => {
    const other = new LockService({ driver: newDriver(), drainTimeout: 0 });
    let inside = 0;
    let turns = 0;
    const work = async (locks: LockService): Promise<void> => {
      for (let turn = 0; turn < 15; turn++) {
        await locks.withLock('cut', { ttl: HOUR, wait: 240_000 }, async () => {
          expect(++inside).toBe(1);
          await new Promise((resolve) => setTimeout(resolve, 2));
          inside--;
          turns++;
        });
      }
    };
    const over = new AbortController();
    // Somebody has a turn between two cuts, or on a busy machine nobody ever would.
    const cutting = (async () => {
      for (let seen = -1; !over.signal.aborted; await tick()) {
        if (turns > seen) {
          seen = turns;
          await cutConnections();
        }
      }
    })();
    await Promise.all([work(service), work(service), work(other), work(other)]).finally(() =>
      over.abort(),
    );
    await cutting;
    await other[Symbol.asyncDispose]();
  }, 300_000);
});

describe('a server that is paused', () => {
  it('fails those who wait no longer, and leaves nothing locked when it goes on', async () => {
    await service.withLock('warm', () => Promise.resolve());
    const goOn = await server.pause();
    try {
      await expect(service.acquire('paused', { wait: 300 })).rejects.toHaveProperty(
        'code',
        'LOCK_DRIVER',
      );
    } finally {
      goOn();
    }
    await expect.poll(() => service.inspect('paused')).toBeNull();
    const lock = await service.acquire('paused', { wait: 10_000 });
    expect(await lock.release()).toBe(true);
  });

  it('does not hold up a shutdown', async () => {
    await service.withLock('warm', () => Promise.resolve());
    const goOn = await server.pause();
    try {
      const waiting = service.acquire('paused shutdown', { wait: HOUR }).catch((e: Error) => e);
      await service[Symbol.asyncDispose]();
      expect(await waiting).toHaveProperty('code', 'LOCK_CLOSED');
    } finally {
      goOn();
    }
  });
});

/** Makes every write fail as the server does in such a case. */
const failWith = (code: string): Promise<unknown> =>
  database.query(`
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE EXCEPTION 'no' USING ERRCODE = '${code}';
    END $$;
    CREATE TRIGGER fail BEFORE INSERT OR UPDATE ON distributed_lock FOR EACH ROW EXECUTE FUNCTION fail();`);

describe('a statement that fails', () => {
  afterEach(() => database.query('DROP FUNCTION IF EXISTS fail() CASCADE'));

  it.each([
    ['the disk is full', '53100', /The disk of the server is full/],
    ['it takes too long', '57014', /took too long, or somebody cancelled/],
    ['it is chosen to end a deadlock', '40P01', /^no$/],
    ['the server runs out of memory', '53200', /^no$/],
  ])(
    'because %s is told with what to do, and the connection is used again',
    async (_, code, message) => {
      const [lease, other] = [newLease(), newLease()];
      const shared = newDriver({ prepare: false });
      await driver.acquire(lease);
      await shared.inspect(lease.key);
      await failWith(code);
      const failing = [driver, shared].flatMap((each) => [
        each.acquire(other),
        each.renew([lease]),
        each.release(lease),
      ]);
      const expected = {
        code: 'LOCK_DRIVER',
        message: expect.stringMatching(message),
        cause: expect.objectContaining({ code }),
      };
      await Promise.all(failing.map((each) => expect(each).rejects.toMatchObject(expected)));
      const waiting = service.acquire(other.key, { ttl: HOUR, wait: 100 });
      await expect(waiting).rejects.toHaveProperty('code', 'LOCK_DRIVER');
      await database.query('DROP FUNCTION fail() CASCADE');
      expect(await driver.renew([lease])).toEqual([{ renewed: true }]);
      expect(await shared.renew([lease])).toEqual([{ renewed: true }]);
      expect(await shared.acquire(other)).toHaveProperty('firstToken');
      expect(await driver.acquire(other)).toHaveProperty('firstToken');
    },
  );

  it('because the table is gone is told so', async () => {
    await database.query('ALTER TABLE distributed_lock RENAME TO gone');
    await expect(driver.acquire(newLease())).rejects.toThrow(/table of the locks is gone/);
    await database.query('ALTER TABLE gone RENAME TO distributed_lock');
    expect(await driver.acquire(newLease())).toHaveProperty('firstToken');
  });
});

describe('a server that takes no writes', () => {
  it('is told of when it has become one', async () => {
    await driver.acquire(newLease());
    await database.query('ALTER DATABASE postgres SET default_transaction_read_only = on');
    await cutConnections();
    const newcomer = newDriver();
    await expect(newcomer.acquire(newLease())).rejects.toThrow(/connect to the primary/);
    await expect(service.acquire('read-only', { wait: 100 })).rejects.toHaveProperty(
      'code',
      'LOCK_DRIVER',
    );
    const writer = new Client({ connectionString: server.url() });
    await writer.connect();
    await writer.query('SET default_transaction_read_only = off');
    await writer.query('ALTER DATABASE postgres RESET default_transaction_read_only');
    await writer.end();
    expect(await newcomer.acquire(newLease())).toHaveProperty('firstToken');
  });

  it('is refused by connect() if it is a standby', async () => {
    await server.becomeStandby();
    await expect(newDriver().connect()).rejects.toThrow(/standby, which takes no writes/);
    await expect(newDriver({ table: 'missing' }).connect()).rejects.toThrow(/standby/);
    await expect(newDriver().acquire(newLease())).rejects.toThrow(/connect to the primary/);
  });
});
