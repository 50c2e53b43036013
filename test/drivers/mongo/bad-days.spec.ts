import { describe, expect, it } from 'vitest';
import { LockDriverError } from '../../../lib/errors/lock-driver.error.js';
import { LockError } from '../../../lib/errors/lock.error.js';
import type { Denial, Grant } from '../../../lib/interfaces/lock-driver.interface.js';
import { Deferred } from '../../support/deferred.js';
import { type Fault, NO_MAJORITY, NOT_WRITABLE_PRIMARY } from '../../support/mongo/faults.js';
import { Scene, until } from './scene.js';

const LONG = 600_000;
const CUT_BEFORE: Fault = { kind: 'cut', when: 'before' };
const CUT_AFTER: Fault = { kind: 'cut', when: 'after' };
const WITHOUT_RETRIES = { client: { retryWrites: false } };

const lease = { key: 'k', owner: 'a#1', ttl: LONG };
const other = { key: 'k', owner: 'b#1', ttl: LONG };

const isGrant = (answer: Grant | Denial): answer is Grant => 'firstToken' in answer;

/** The lock error that a promise is rejected with. */
async function failureOf(promise: PromiseLike<unknown>): Promise<LockError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof LockError) {
      return error;
    }
    throw error;
  }
  throw new Error('It did not fail');
}

describe('a connection that is cut, on the stand-in', () => {
  it.each([CUT_BEFORE, CUT_AFTER])(
    'is no matter where the client tries again: $when',
    async (cut) => {
      await using scene = await Scene.start();
      scene.server.faults.plan('findAndModify', cut);
      expect(isGrant(await scene.driver.acquire(lease))).toBe(true);
      scene.server.faults.plan('update', cut);
      expect(await scene.driver.renew([lease])).toEqual([{ renewed: true }]);
      scene.server.faults.plan('findAndModify', cut);
      expect(await scene.driver.release(lease)).toEqual({ released: true });
      expect(scene.documents.get('k')?.['owner']).toBeNull();
    },
  );

  it('leaves a resent acquire the block that was granted, though the server answers without projection', async () => {
    await using scene = await Scene.start();
    await scene.driver.acquire({ ...other, ttl: 1 });
    scene.server.advance(10);
    scene.server.faults.plan('findAndModify', CUT_AFTER);
    const grant = await scene.driver.acquire({ ...lease, tokens: 100 });
    expect(grant).toMatchObject({ tokens: 100 });
    expect(scene.names.slice(-2)).toEqual(['findAndModify', 'findAndModify']);
  });

  it('leaves a resent denial its owner, and a resent release its mark', async () => {
    await using scene = await Scene.start();
    await scene.driver.acquire(lease);
    scene.server.faults.plan('findAndModify', CUT_AFTER);
    const denial = await scene.driver.acquire({ ...other, wantFor: LONG });
    expect(denial).toEqual({ owner: 'a#1' });
    scene.server.faults.plan('findAndModify', CUT_AFTER);
    const { released, wantedFor } = await scene.driver.release(lease);
    expect(released).toBe(true);
    expect(wantedFor).toBeGreaterThan(LONG / 2);
  });

  it('says whether a resent forced release freed anything', async () => {
    await using scene = await Scene.start();
    await scene.driver.acquire(lease);
    scene.server.faults.plan('findAndModify', CUT_AFTER);
    expect(await scene.driver.forceRelease('k')).toBe(true);
    scene.server.faults.plan('findAndModify', CUT_AFTER);
    expect(await scene.driver.forceRelease('k')).toBe(false);
  });

  it.each([CUT_BEFORE, CUT_AFTER])(
    'is an unknown outcome where the client does not try again: $when',
    async (cut) => {
      await using scene = await Scene.start(WITHOUT_RETRIES);
      scene.server.faults.plan('findAndModify', cut);
      const error = await failureOf(scene.driver.acquire(lease));
      expect(error.keys).toEqual(['k']);
      expect(error.cause).toHaveProperty('name', 'MongoNetworkError');
      expect(error.message).toMatch(/the outcome is unknown/);
    },
  );

  it.each([CUT_BEFORE, CUT_AFTER])(
    'leaves nothing locked, and a waiter gets the lock in the end: $when',
    async (cut) => {
      await using scene = await Scene.start(WITHOUT_RETRIES);
      scene.server.faults.plan('findAndModify', cut);
      const lock = await scene.service().acquire('k', { ttl: LONG, wait: Infinity });
      expect(scene.documents.get('k')?.['owner']).toBe(lock.owner);
      expect(await lock.release()).toBe(true);
      expect(await scene.driver.inspect('k')).toBeNull();
    },
  );

  it('makes a renewal unknown, and the lease goes on', async () => {
    await using scene = await Scene.start(WITHOUT_RETRIES);
    const service = scene.service();
    const lock = await service.acquire('k', { ttl: LONG });
    scene.server.faults.plan('update', CUT_AFTER);
    await expect(lock.extend()).rejects.toThrow(LockDriverError);
    expect(lock.held).toBe(true);
    await lock.extend();
    expect(await lock.release()).toBe(true);
  });
});

describe('a primary that steps down, on the stand-in', () => {
  it('is no matter where the client tries again', async () => {
    await using scene = await Scene.start();
    scene.server.faults.plan('findAndModify', NOT_WRITABLE_PRIMARY);
    expect(isGrant(await scene.driver.acquire(lease))).toBe(true);
    scene.server.faults.plan('update', NOT_WRITABLE_PRIMARY);
    expect(await scene.driver.renew([lease])).toEqual([{ renewed: true }]);
  });

  it('is told as such where the client does not', async () => {
    await using scene = await Scene.start(WITHOUT_RETRIES);
    scene.server.faults.plan('findAndModify', NOT_WRITABLE_PRIMARY);
    const error = await failureOf(scene.driver.acquire(lease));
    expect(error.message).toMatch(/no primary/);
    expect(error.cause).toHaveProperty('code', 10107);
    scene.server.faults.plan('update', NOT_WRITABLE_PRIMARY);
    expect((await failureOf(scene.driver.renew([lease]))).message).toMatch(/no primary/);
  });

  it('keeps nobody waiting for longer than `wait`, and all goes on when there is one again', async () => {
    await using scene = await Scene.start();
    const service = scene.service();
    scene.server.isPrimary = false;
    await expect(service.acquire('k', { wait: 200 })).rejects.toHaveProperty('code', 'LOCK_DRIVER');
    const waiting = service.acquire('k', { wait: Infinity });
    scene.server.isPrimary = true;
    expect(await (await waiting).release()).toBe(true);
  });
});

describe('a write that no majority confirms, on the stand-in', () => {
  it('is an unknown outcome', async () => {
    await using scene = await Scene.start();
    scene.server.faults.plan('findAndModify', NO_MAJORITY);
    const error = await failureOf(scene.driver.acquire(lease));
    expect(error.message).toMatch(/a majority/);
    expect(error.cause).toHaveProperty('code', 64);
    scene.server.faults.plan('update', NO_MAJORITY);
    expect((await failureOf(scene.driver.renew([lease]))).message).toMatch(/a majority/);
    scene.server.faults.plan('findAndModify', NO_MAJORITY);
    expect((await failureOf(scene.driver.release(lease))).message).toMatch(/a majority/);
  });

  it('is taken back before anybody gets the lock', async () => {
    await using scene = await Scene.start();
    scene.server.faults.plan('findAndModify', NO_MAJORITY);
    const lock = await scene.service().acquire('k', { ttl: LONG, wait: Infinity });
    expect(scene.documents.get('k')?.['owner']).toBe(lock.owner);
    scene.server.faults.plan('findAndModify', NO_MAJORITY);
    expect(await lock.release()).toBe(false);
    await until('the lock to be free', async () => (await scene.driver.inspect('k')) === null);
  });
});

describe('a server that hangs, on the stand-in', () => {
  it.each(['before', 'after'] as const)(
    'keeps nobody waiting for longer than `wait`, and leaves nothing locked: %s',
    async (when) => {
      await using scene = await Scene.start();
      const service = scene.service();
      scene.server.faults.plan('findAndModify', { kind: 'hang', when });
      const waiting = service.acquire('k', { ttl: LONG, wait: 300 });
      await expect(waiting).rejects.toHaveProperty('code', 'LOCK_DRIVER');
      await until('the lock to be free', async () => (await scene.driver.inspect('k')) === null);
      expect(await (await service.acquire('k', { wait: Infinity })).release()).toBe(true);
    },
  );

  it('cannot keep a lock alive that is not renewed', async () => {
    await using scene = await Scene.start();
    const service = scene.service();
    scene.server.faults.plan('update', { kind: 'hang', when: 'before' }, Infinity);
    const lock = await service.acquire('k', { ttl: 300 });
    await until('the loss', () => lock.signal.aborted);
    expect(lock.held).toBe(false);
  });

  it('does not hold up a shutdown with commands in flight', async () => {
    const scene = await Scene.start();
    const service = scene.service();
    const lock = await service.acquire('held', { ttl: LONG });
    for (const command of ['findAndModify', 'update', 'find', 'getMore', 'killCursors']) {
      scene.server.faults.plan(command, { kind: 'hang', when: 'before' }, Infinity);
    }
    const asking = [
      service.acquire('k', { ttl: LONG, wait: Infinity }),
      lock.extend(),
      scene.driver.list(),
      scene.driver.inspect('k'),
      scene.driver.release(lease),
    ];
    const codes = Promise.all(asking.map(async (answer) => (await failureOf(answer)).code));
    await until('the commands to be sent', () => scene.sent.length > asking.length);
    await scene[Symbol.asyncDispose]();
    const [waiting, extending, ...others] = await codes;
    expect([waiting, extending]).toEqual(['LOCK_CLOSED', 'LOCK_LOST']);
    expect(new Set(others)).toEqual(new Set(['LOCK_DRIVER']));
  });
});

describe('upserts of one new key that collide, on the stand-in', () => {
  it('make one winner of fifty, and fail nobody', async () => {
    await using scene = await Scene.start();
    const drivers = [scene.driver, await scene.another()];
    for (let round = 0; round < 5; round++) {
      scene.server.commands.collidingUpserts = 50;
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, i) =>
          drivers[i % 2]!.acquire({ key: `k${round}`, owner: `o#${i}`, ttl: LONG }),
        ),
      );
      expect(answers.filter(isGrant)).toHaveLength(1);
      // Who lost that race is told nothing of the winner.
      expect(answers.filter((answer) => Object.keys(answer).length === 0)).toHaveLength(49);
    }
  });

  it('are told from a unique index that somebody else has made', async () => {
    await using scene = await Scene.start();
    const more = { keyPattern: { tenant: 1 } };
    scene.server.faults.plan('findAndModify', {
      kind: 'error',
      code: 11000,
      codeName: 'DuplicateKey',
      more,
    });
    expect((await failureOf(scene.driver.acquire(lease))).cause).toHaveProperty('code', 11000);
  });
});

describe('a renewal that found fewer than were sent, on the stand-in', () => {
  it('is unknown where the second look finds more than were renewed', async () => {
    await using scene = await Scene.start();
    const late = await scene.another();
    const look = new Deferred();
    scene.server.faults.plan('find', { kind: 'delay', until: look.promise });
    const renewing = failureOf(scene.driver.renew([lease]));
    await until('the second look', () => scene.names.includes('find'));
    await late.acquire(lease);
    look.resolve();
    expect((await renewing).code).toBe('LOCK_DRIVER');
  });
});

describe('errors of the MongoDB driver, on the stand-in', () => {
  it.each([
    ['Unauthorized', 13, /readWrite/],
    ['MaxTimeMSExpired', 50, /`timeout`/],
    ['UnsatisfiableWriteConcern', 100, /too few members/],
    ['IllegalOperation', 20, /retryWrites=false/],
    ['InvalidPipelineOperator', 168, /4\.4 or later/],
  ])('say what to do about %s', async (codeName, code, advice) => {
    await using scene = await Scene.start();
    scene.server.faults.plan('findAndModify', { kind: 'error', code, codeName });
    expect((await failureOf(scene.driver.acquire(lease))).message).toMatch(advice);
  });

  it('say so when the client was closed', async () => {
    await using scene = await Scene.start();
    await scene.client.close();
    for (const asking of [
      scene.driver.acquire(lease),
      scene.driver.renew([lease]),
      scene.driver.release(lease),
      scene.driver.inspect('k'),
      scene.driver.list(),
      scene.driver.forceRelease('k'),
    ]) {
      expect((await failureOf(asking)).message).toMatch(/the client was closed/);
    }
  });

  it('are lock errors with the cause for those who look at locks', async () => {
    await using scene = await Scene.start({ client: { retryReads: false } });
    scene.server.faults.plan('find', CUT_BEFORE, 2);
    expect((await failureOf(scene.driver.inspect('k'))).keys).toEqual(['k']);
    expect((await failureOf(scene.driver.list())).cause).toBeInstanceOf(Error);
  });
});
