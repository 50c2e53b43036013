import { Long } from 'bson';
import { describe, expect, it } from 'vitest';
import { LockConfigError } from '../../../lib/errors/lock-config.error.js';
import { LockDriverError } from '../../../lib/errors/lock-driver.error.js';
import { LockError } from '../../../lib/errors/lock.error.js';
import type { Admission } from '../../../lib/interfaces/lock-driver.interface.js';
import { Scene } from './scene.js';

const START = Date.UTC(2026, 0, 1);
const NOW = START * 1000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const us = (ms: number): number => ms * 1000;
const ADMITTED: Admission = { admitted: true };

/** A scene whose clock stands still unless it is put on. */
async function frozen(): Promise<Scene> {
  const scene = await Scene.start();
  scene.server.clock = () => START;
  return scene;
}

const admitIn =
  ({ driver }: Scene) =>
  (token: number, transaction?: unknown): Promise<Admission> =>
    driver.admitToken({ resource: 'r', token, retention: DAY }, transaction);

describe('the gate of the MongoDB driver, on the stand-in', () => {
  it('is one command, confirmed by a majority', async () => {
    await using scene = await frozen();
    expect(await admitIn(scene)(NOW)).toEqual(ADMITTED);
    expect(scene.names).toEqual(['findAndModify']);
    expect(scene.sent[0]?.command).toMatchObject({
      findAndModify: 'distributed.locks_gate',
      query: { _id: 'r' },
      writeConcern: { w: 'majority', wtimeout: 5000 },
      maxTimeMS: 5000,
    });
  });

  it('keeps the token as a 64-bit integer, for the retention and an hour and a minute', async () => {
    await using scene = await frozen();
    await admitIn(scene)(NOW);
    expect(scene.resources.get('r')).toMatchObject({
      token: Long.fromNumber(NOW),
      purgeAt: new Date(START + DAY + HOUR + MINUTE),
    });
    scene.server.advance(DAY + HOUR + MINUTE - 1);
    scene.server.purge();
    expect(await admitIn(scene)(NOW - 1)).toEqual({ admitted: false, rule: 'older', newest: NOW });
    scene.server.advance(1);
    scene.server.purge();
    expect(await admitIn(scene)(NOW - 1)).toEqual({ admitted: false, rule: 'forgotten' });
  });

  it('admits up to a minute ahead and as old as its memory, and not one more', async () => {
    await using scene = await frozen();
    const admit = admitIn(scene);
    expect(await admit(NOW + us(MINUTE) + 1)).toEqual({ admitted: false, rule: 'ahead' });
    expect(await admit(NOW - us(DAY) - 1)).toEqual({ admitted: false, rule: 'forgotten' });
    expect(await admit(NOW - us(DAY))).toEqual(ADMITTED);
    expect(await admit(NOW + us(MINUTE))).toEqual(ADMITTED);
  });

  it('leaves of a token that it refuses nothing that stays', async () => {
    await using scene = await frozen();
    await admitIn(scene)(Number.MAX_SAFE_INTEGER);
    expect(scene.resources.get('r')).toMatchObject({ token: null, purgeAt: new Date(START) });
    scene.server.purge();
    expect(scene.resources.size).toBe(0);
  });

  it('writes for every admission, so that transactions collide, and not for a refusal', async () => {
    await using scene = await frozen();
    const admit = admitIn(scene);
    const { changes } = scene.server.commands.store;
    await admit(NOW);
    const { last } = changes;
    await admit(NOW);
    expect(changes.last).toBe(last + 1);
    await admit(NOW - 1);
    await admit(Number.MAX_SAFE_INTEGER);
    expect(changes.last).toBe(last + 1);
  });

  it('asks again where two that bring a new resource collide', async () => {
    await using scene = await frozen();
    const other = await scene.another();
    scene.server.commands.collidingUpserts = 2;
    const request = { resource: 'r', token: NOW, retention: DAY };
    const answers = await Promise.all([
      scene.driver.admitToken(request),
      other.admitToken(request),
    ]);
    expect(answers).toEqual([ADMITTED, ADMITTED]);
  });

  it('tells of a server that fails by a LockDriverError', async () => {
    await using scene = await frozen();
    scene.server.faults.plan('findAndModify', {
      kind: 'error',
      code: 13,
      codeName: 'Unauthorized',
    });
    const asking = admitIn(scene)(NOW);
    await expect(asking).rejects.toThrow(LockDriverError);
    await expect(asking).rejects.toThrow(/failed to admit a fencing token.*readWrite/);
  });
});

describe('the gate of the MongoDB driver in a transaction, on the stand-in', () => {
  it('is part of it: without a write concern of its own, and undone with it', async () => {
    await using scene = await frozen();
    const admit = admitIn(scene);
    await using session = scene.client.startSession();
    session.startTransaction();
    expect(await admit(NOW, session)).toEqual(ADMITTED);
    expect(scene.sent[0]?.command).toMatchObject({ startTransaction: true, autocommit: false });
    expect(scene.sent[0]?.command).not.toHaveProperty('writeConcern');
    await session.abortTransaction();
    expect(scene.resources.size).toBe(0);

    session.startTransaction();
    await admit(NOW, session);
    await session.commitTransaction();
    expect(await admit(NOW - 1)).toEqual({ admitted: false, rule: 'older', newest: NOW });
  });

  it.each([
    ['an older', -1],
    ['the same', 0],
  ])('collides with %s token in another, which may be repeated', async (_, difference) => {
    await using scene = await frozen();
    const admit = admitIn(scene);
    await admit(NOW - 10);
    await using first = scene.client.startSession();
    await using second = scene.client.startSession();
    first.startTransaction();
    second.startTransaction();
    await admit(NOW, first);
    const error: unknown = await admit(NOW + difference, second).catch((e: unknown) => e);
    expect(error).not.toBeInstanceOf(LockError);
    expect(error).toMatchObject({ code: 112 });
    expect(
      (error as { hasErrorLabel(l: string): boolean }).hasErrorLabel('TransientTransactionError'),
    ).toBe(true);
    await second.abortTransaction();
    await first.commitTransaction();
  });

  it('is repeated by withTransaction, and then sees what the other has committed', async () => {
    await using scene = await frozen();
    const admit = admitIn(scene);
    await admit(NOW - 10);
    await using first = scene.client.startSession();
    await using second = scene.client.startSession();
    first.startTransaction();
    await admit(NOW, first);
    let tries = 0;
    const outcome = await second.withTransaction(async () => {
      if (++tries === 2) {
        await first.commitTransaction();
      }
      return admit(NOW - 1, second);
    });
    expect(tries).toBeGreaterThan(1);
    expect(outcome).toEqual({ admitted: false, rule: 'older', newest: NOW });
  });

  it('is refused where there is none', async () => {
    await using scene = await frozen();
    await using idle = scene.client.startSession();
    await expect(admitIn(scene)(NOW, idle)).rejects.toThrow(/has begun no transaction/);
    for (const each of [null, {}, scene.client, { query: () => [] }]) {
      await expect(admitIn(scene)(NOW, each)).rejects.toThrow(/is no session/);
      await expect(admitIn(scene)(NOW, each)).rejects.toThrow(LockConfigError);
    }
    expect(scene.names).toEqual([]);
  });
});
