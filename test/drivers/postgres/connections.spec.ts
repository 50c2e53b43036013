import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { LockService } from '../../../lib/lock.service.js';
import { PostgresLockDriver } from '../../../lib/drivers/postgres/index.js';
import { APPLICATION_NAME } from '../../../lib/drivers/postgres/client-factory.js';
import { ObservedPool } from '../../support/postgres/observed-pool.js';
import { usePool, usePostgres } from '../../support/postgres/use-postgres.js';
import { useDrivers } from '../../support/postgres/use-drivers.js';

const database = usePostgres();
const pool = usePool(database.url);
const small = usePool(database.url, { max: 2 });
const migration = new PostgresLockDriver(pool);
beforeAll(() => migration.connect());
afterAll(() => migration.close());
const driver = useDrivers(() => ({ pool }));

const observed: ObservedPool[] = [];
const newPool = (): ObservedPool => {
  const made = new ObservedPool({ connectionString: database.url, max: 2 });
  observed.push(made);
  return made;
};
afterEach(() => Promise.all(observed.splice(0).map((each) => each.end())));

const lease = (key: string, owner = 'a:1#1'): { key: string; owner: string; ttl: number } => ({
  key,
  owner,
  ttl: 60_000,
});

const connectionsOfOurs = async (): Promise<number> => {
  const [row] = await database.query(
    `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1`,
    [APPLICATION_NAME],
  );
  return row?.['n'] as number;
};

/** Sockets that keep this process alive. */
const sockets = (): number =>
  process.getActiveResourcesInfo().filter((type) => type === 'TCPSocketWrap').length;

/** Leads to the server as a proxy of a cloud does, and does not know of the process that it keeps alive. */
class Tunnel extends Duplex {
  readonly #socket = new Socket();

  connect(port: number, host: string): void {
    this.#socket.on('data', (chunk) => this.push(chunk)).on('end', () => this.push(null));
    this.#socket.connect(port, host, () => this.emit('connect'));
  }

  setNoDelay(): void {}

  setKeepAlive(): void {}

  override _read(): void {}

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.#socket.write(chunk, done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }
}

describe('the connections of a driver', () => {
  it('are opened when they are needed, and are none of the pool’s', async () => {
    const own = newPool();
    const lazy = driver({ pool: own, poolSize: 8 });
    expect(own.opened).toBe(0);
    await lazy.connect();
    expect(own.opened).toBe(1);
    await lazy.acquire(lease('lazy'));
    expect(own.opened).toBe(2);
    await lazy.acquire({ ...lease('lazy', 'b:1#1'), wantFor: 1000 });
    await lazy.release(lease('lazy'));
    await expect.poll(() => own.opened).toBe(3);
    await lazy.acquire(lease('lazy again'));
    expect(own.opened).toBe(3);
    expect(own.totalCount).toBe(0);
  });

  it('are at most as many as `poolSize` says', async () => {
    const own = newPool();
    const busy = driver({ pool: own, poolSize: 4 });
    await busy.connect();
    for (let round = 0; round < 5; round++) {
      const wanted = { ttl: 60_000, wantFor: 1000 };
      await Promise.all(
        Array.from({ length: 500 }, (_, i) =>
          busy.acquire({ key: `many:${i}`, owner: `a:${round}#${i}`, ...wanted }),
        ),
      );
      await busy.list();
    }
    expect(own.opened).toBe(4);
  });

  it('do not keep the process alive while nothing is asked of them', async () => {
    const before = sockets();
    const quiet = driver();
    await quiet.connect();
    await quiet.acquire(lease('quiet'));
    await quiet.acquire({ ...lease('quiet', 'b:1#1'), wantFor: 1000 });
    const heard = new Promise<void>((resolve) => quiet.onReleased?.('quiet', resolve));
    await heard;
    expect(await connectionsOfOurs()).toBeGreaterThanOrEqual(3);
    expect(sockets()).toBe(before);
  });

  it('are gone when the driver is closed, and the pool goes on', async () => {
    const before = await connectionsOfOurs();
    const closing = driver();
    await closing.connect();
    await closing.acquire(lease('closing'));
    await closing.close();
    await closing.close();
    await expect.poll(connectionsOfOurs).toBe(before);
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await expect(closing.acquire(lease('closing'))).rejects.toThrow('The driver is closed');
  });

  it('can be opened again', async () => {
    const again = driver();
    await again.connect();
    await again.close();
    await again.connect();
    expect(await again.acquire(lease('again'))).toHaveProperty('firstToken');
    await again.close();
  });

  it.each([0, 1, 2, 4, 8])(
    'are gone too when it is closed while they are opened (after %i turns of the event loop)',
    async (turns) => {
      const before = await connectionsOfOurs();
      const closing = driver();
      const connecting = Promise.allSettled([closing.connect(), closing.acquire(lease('hasty'))]);
      closing.onReleased?.('hasty', () => undefined);
      for (let turn = 0; turn < turns; turn++) {
        await new Promise((resolve) => setImmediate(resolve));
      }
      await closing.close();
      await connecting;
      await expect.poll(connectionsOfOurs).toBe(before);
      await expect(closing.acquire(lease('hasty'))).rejects.toThrow('The driver is closed');
    },
  );

  it('work over what the pool makes in place of a socket', async () => {
    const own = newPool();
    Reflect.set(own.options, 'stream', () => new Tunnel());
    const tunnelled = driver({ pool: own });
    await tunnelled.connect();
    expect(await tunnelled.acquire(lease('tunnel'))).toHaveProperty('firstToken');
    await tunnelled.acquire({ ...lease('tunnel', 'b:1#1'), wantFor: 60_000 });
    await new Promise<void>((resolve) => tunnelled.onReleased?.('tunnel', resolve));
    expect(await tunnelled.release(lease('tunnel'))).toMatchObject({ released: true });
  });

  it('answer what is under way when the driver is closed', async () => {
    const closing = driver();
    await closing.connect();
    const answers = Promise.all([
      closing.acquire(lease('under way:1')),
      closing.acquire(lease('under way:2')),
      closing.list(),
    ]);
    const closed = closing.close();
    await expect(answers).resolves.toHaveLength(3);
    await closed;
  });
});

describe('handlers that hold every connection of the pool', () => {
  it('get the locks that they wait for', async () => {
    const [one, other] = [1, 2].map(
      () => new LockService({ driver: new PostgresLockDriver(small), drainTimeout: 0 }),
    ) as [LockService, LockService];
    await Promise.all([one.onModuleInit(), other.onModuleInit()]);
    const order: number[] = [];
    const handler = async (service: LockService, id: number): Promise<void> => {
      const client = await small.connect();
      try {
        await service.withLock('contended', { wait: Infinity, ttl: 60_000 }, async () => {
          await client.query('SELECT pg_sleep(0.005)');
          order.push(id);
        });
      } finally {
        client.release();
      }
    };
    await Promise.all(Array.from({ length: 12 }, (_, i) => handler(i % 2 ? one : other, i)));
    expect(order.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, i) => i));
    await Promise.all([one[Symbol.asyncDispose](), other[Symbol.asyncDispose]()]);
  });
});
