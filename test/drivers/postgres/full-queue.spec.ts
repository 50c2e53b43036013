import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { PostgresLockDriver } from '../../../lib/drivers/postgres/index.js';
import { PostgresServer } from '../../support/postgres/postgres-server.js';
import { useDrivers } from '../../support/postgres/use-drivers.js';

const HOUR = 3_600_000;

let server: PostgresServer;
let forgetful: Client;
/** Notices stay in the queue until all who listen have read them, and who is in a transaction does not read. */
beforeAll(async () => {
  server = await PostgresServer.start({ settings: { max_notify_queue_pages: 64 } });
  forgetful = new Client({ connectionString: server.url() });
  await forgetful.connect();
  await forgetful.query('LISTEN anything');
  await forgetful.query('BEGIN');
  await forgetful.query('SELECT 1');
  await fillQueue();
});
afterAll(async () => {
  await forgetful.end();
  await server.stop();
});

async function fillQueue(): Promise<void> {
  const client = new Client({ connectionString: server.url() });
  await client.connect();
  const filling = async (): Promise<never> => {
    for (let i = 0; ; i++) {
      await client.query(`SELECT pg_notify('anything', repeat('a', 7900) || ${i})`);
    }
  };
  await expect(filling()).rejects.toHaveProperty('code', '54000');
  await client.end();
}

const newDriver = useDrivers(() => ({ connectionString: server.url() }));
const direct = { name: 'a connection of its own', options: { prepare: true } };
const shared = { name: 'a connection that is shared', options: { prepare: false } };

describe.each([direct, shared])('where no notice can be sent, by $name', ({ options }) => {
  let driver: PostgresLockDriver;
  let count = 0;
  beforeEach(async () => {
    driver = newDriver(options);
    await driver.connect();
  });

  async function wanted(): Promise<{ key: string; owner: string; ttl: number }> {
    const lease = { key: `${options.prepare}:${count++}`, owner: 'a:1#1', ttl: HOUR };
    await driver.acquire(lease);
    await driver.acquire({ ...lease, owner: 'b:1#1', wantFor: HOUR });
    return lease;
  }

  it('locks that somebody wants are released all the same', async () => {
    const [one, other] = [await wanted(), await wanted()];
    const released = { released: true, wantedFor: expect.any(Number) };
    expect(await driver.release(one)).toEqual(released);
    const more = [other, await wanted()];
    expect(await Promise.all(more.map((lease) => driver.release(lease)))).toEqual([
      released,
      released,
    ]);
    expect(await driver.inspect(other.key)).toBeNull();
  });

  it('they are freed by force', async () => {
    const { key } = await wanted();
    expect(await driver.forceRelease(key)).toBe(true);
    expect(await driver.inspect(key)).toBeNull();
  });
});
