import { MongoClient } from 'mongodb';
import { MongoClient as MongoClient6 } from 'mongodb6';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { MongoLockDriver } from '../../../lib/drivers/mongo/mongo-lock.driver.js';
import { LockConfigError } from '../../../lib/errors/lock-config.error.js';
import { LockDriverError } from '../../../lib/errors/lock-driver.error.js';
import { LockService } from '../../../lib/lock.service.js';
import type { Fault } from '../../support/mongo/faults.js';
import { MongoStandIn } from '../../support/mongo/stand-in.js';
import { Scene, until } from './scene.js';

const UNAUTHORIZED: Fault = { kind: 'error', code: 13, codeName: 'Unauthorized' };

const TOO_FEW: Fault = {
  kind: 'writeConcernError',
  code: 100,
  codeName: 'UnsatisfiableWriteConcern',
};

const indexesOf = ({ log }: MongoStandIn): number =>
  log.filter((name) => name === 'createIndexes').length;

afterEach(() => {
  vi.restoreAllMocks();
});

/** A client and a driver that is not connected yet. */
async function unconnected(
  server: MongoStandIn,
  test: (driver: MongoLockDriver) => Promise<void>,
  Client: typeof MongoClient | typeof MongoClient6 = MongoClient,
): Promise<void> {
  const client = new Client(server.url, { serverSelectionTimeoutMS: 200 });
  try {
    await test(new MongoLockDriver(client.db('locks')));
  } finally {
    await client.close();
  }
}

describe('the set-up of the MongoDB driver, on the stand-in', () => {
  it('makes a TTL index on purgeAt alone, for locks and for the gate', async () => {
    await using scene = await Scene.start();
    const { ttlIndexes } = scene.server.commands.store.collection('locks', 'distributed.locks');
    expect([...ttlIndexes]).toEqual([['purgeAt', 0]]);
    const gate = scene.server.commands.store.collection('locks', 'distributed.locks_gate');
    expect([...gate.ttlIndexes]).toEqual([['purgeAt', 0]]);
  });

  it('makes them once for all drivers of a client', async () => {
    await using scene = await Scene.start();
    const again = new MongoLockDriver(scene.client.db('locks'));
    await again.connect();
    await scene.driver.connect();
    const elsewhere = new MongoLockDriver({ db: scene.client.db('locks'), collection: 'others' });
    await elsewhere.connect();
    await until('the other indexes', () => indexesOf(scene.server) > 3);
    expect(indexesOf(scene.server)).toBe(4);
  });

  it('leaves it to the user where the options say so', async () => {
    await using scene = await Scene.start({ driver: { createIndex: false } });
    await scene.driver.acquire({ key: 'k', owner: 'a#1', ttl: 1000 });
    expect(indexesOf(scene.server)).toBe(0);
  });

  it('tells that it could not be made, and goes on', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue();
    await using server = await MongoStandIn.start({ replicaSet: 'rs' });
    server.faults.plan('createIndexes', UNAUTHORIZED);
    await unconnected(server, async (driver) => {
      await driver.connect();
      await until('the warning', () => warn.mock.calls.length > 0);
      expect(warn.mock.calls).toEqual([
        [
          expect.stringMatching(/locks\.distributed\.locks.*Allow createIndex/),
          { code: 'LOCK_MONGO_INDEX' },
        ],
      ]);
      const grant = await driver.acquire({ key: 'k', owner: 'a#1', ttl: 1000 });
      expect(grant).toHaveProperty('firstToken');
    });
  });

  it('waits for the index neither at boot nor at the end, and then does not tell of it', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue();
    await using server = await MongoStandIn.start({ replicaSet: 'rs' });
    server.faults.plan('createIndexes', { kind: 'hang', when: 'before' });
    await unconnected(server, async (driver) => {
      await driver.connect();
      await until('the command', () => indexesOf(server) > 0);
      await driver.close();
    });
    expect(warn).not.toHaveBeenCalled();
  });

  it('refuses a server that is too old', async () => {
    await using server = await MongoStandIn.start({ maxWireVersion: 8 });
    // The later client refuses it by itself.
    await unconnected(
      server,
      async (driver) => {
        await expect(driver.connect()).rejects.toThrow(LockConfigError);
        await expect(driver.connect()).rejects.toThrow(/4\.4 or later/);
      },
      MongoClient6,
    );
  });

  it.each([
    ['may not write', 'update', UNAUTHORIZED, /readWrite/],
    ['may not read', 'find', UNAUTHORIZED, /readWrite/],
    ['has too few members', 'update', TOO_FEW, /too few members/],
  ])('fails at boot with advice where it %s', async (_, command, fault, advice) => {
    await using server = await MongoStandIn.start({ replicaSet: 'rs' });
    server.faults.plan(command, fault);
    await unconnected(server, async (driver) => {
      const locks = new LockService({ driver });
      const booting = locks.onModuleInit();
      await expect(booting).rejects.toThrow(LockDriverError);
      await expect(booting).rejects.toThrow(advice);
    });
  });

  it('fails at boot where there is no server', async () => {
    const server = await MongoStandIn.start({ replicaSet: 'rs' });
    await unconnected(server, async (driver) => {
      await server.stop();
      await expect(driver.connect()).rejects.toThrow(/no server can be reached/);
    });
  });

  it('leaves the client open when the driver ends', async () => {
    await using scene = await Scene.start();
    const service = new LockService({ driver: scene.driver });
    await service.onModuleInit();
    await (await service.acquire('k')).release();
    await service[Symbol.asyncDispose]();
    await expect(scene.client.db('locks').command({ ping: 1 })).resolves.toMatchObject({ ok: 1 });
  });
});

describe('a client that reads numbers in its own way, on the stand-in', () => {
  it.each([
    { promoteLongs: false },
    { useBigInt64: true },
    { promoteValues: false },
    { raw: true },
    { ignoreUndefined: true, promoteBuffers: true },
  ])('changes nothing: %o', async (client) => {
    await using scene = await Scene.start({ client });
    const lease = { key: 'k', owner: 'a#1', ttl: 600_000 };
    const grant = await scene.driver.acquire(lease);
    expect(grant).toEqual({ firstToken: expect.any(Number) as number, tokens: 1 });
    const denial = await scene.driver.acquire({ ...lease, owner: 'b#1', wantFor: 600_000 });
    expect(denial).toEqual({ owner: 'a#1', retryAfter: expect.any(Number) as number });
    expect(await scene.driver.renew([lease, { ...lease, owner: 'b#1' }])).toEqual([
      { renewed: true },
      { renewed: false },
    ]);
    const bump = await scene.driver.renew([{ ...lease, bumpToken: 5 }]);
    expect(bump[0]?.firstToken).toBeGreaterThan(0);
    expect(await scene.driver.list()).toHaveLength(1);
    const { wantedFor } = await scene.driver.release(lease);
    expect(wantedFor).toBeGreaterThan(0);
  });
});
