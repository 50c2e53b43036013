import { Long } from 'bson';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { LockDriverError } from '../../../lib/errors/lock-driver.error.js';
import type { Denial, Grant } from '../../../lib/interfaces/lock-driver.interface.js';
import { Deferred } from '../../support/deferred.js';
import type { Document } from '../../support/mongo/values.js';
import { Scene } from './scene.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = Date.UTC(2026, 0, 1);

/** A scene whose clock stands still unless it is put on. */
async function frozen(options?: Parameters<typeof Scene.start>[0]): Promise<Scene> {
  const scene = await Scene.start(options);
  scene.server.clock = () => START;
  return scene;
}

async function granted(answer: Promise<Grant | Denial>): Promise<Grant> {
  const grant = await answer;
  if (!('firstToken' in grant)) {
    throw new Error('It was denied');
  }
  return grant;
}

const lastOf = ({ firstToken, tokens }: Grant): number => firstToken + tokens - 1;
const purgeAtOf = (document: Document | undefined): unknown =>
  document?.['purgeAt'] instanceof Date && document['purgeAt'].getTime();

afterEach(() => {
  vi.restoreAllMocks();
});

describe('fencing tokens of the MongoDB driver, on the stand-in', () => {
  it('are one more each where many are granted within a millisecond', async () => {
    await using scene = await frozen();
    const lease = { key: 'k', owner: 'a#1', ttl: 1000 };
    const grants: Grant[] = [];
    for (let i = 0; i < 20; i++) {
      grants.push(await granted(scene.driver.acquire({ ...lease, tokens: 100 })));
      await scene.driver.release(lease);
    }
    expect(grants).toEqual(grants.map((_, i) => ({ firstToken: START * 1000 + i, tokens: 1 })));
  });

  it('are blocks again from the next millisecond on, out of what is left of the time', async () => {
    await using scene = await frozen();
    const lease = { key: 'k', owner: 'a#1', ttl: 1000 };
    for (let i = 0; i < 3; i++) {
      await scene.driver.acquire(lease);
      await scene.driver.release(lease);
    }
    scene.server.advance(1);
    const grant = await granted(scene.driver.acquire({ ...lease, tokens: 1024 }));
    expect(grant).toEqual({ firstToken: START * 1000 + 3, tokens: 998 });
  });

  it('increase though the clock is put back by an hour while the lock is known', async () => {
    await using scene = await frozen();
    const lease = { key: 'k', owner: 'a#1', ttl: 1000 };
    const before = await granted(scene.driver.acquire(lease));
    await scene.driver.release(lease);
    scene.server.advance(-HOUR);
    const after = await granted(scene.driver.acquire({ ...lease, tokens: 10 }));
    expect(after).toEqual({ firstToken: lastOf(before) + 1, tokens: 1 });
  });

  it('are remembered until the clock has passed them again', async () => {
    await using scene = await frozen();
    const lease = { key: 'k', owner: 'a#1', ttl: 1000 };
    const before = await granted(scene.driver.acquire(lease));
    await scene.driver.release(lease);
    scene.server.advance(-HOUR);
    await scene.driver.acquire(lease);
    await scene.driver.release(lease);
    scene.server.advance(HOUR - 1000);
    scene.server.purge();
    const after = await granted(scene.driver.acquire(lease));
    expect(after.firstToken).toBeGreaterThan(lastOf(before));
  });

  it('strictly increase across release, expiry and clean-up', async () => {
    await using scene = await Scene.start();
    let last = 0;
    const next = async (owner: string, ttl: number): Promise<void> => {
      const grant = await granted(scene.driver.acquire({ key: 'k', owner, ttl, tokens: 50 }));
      expect(grant.firstToken).toBeGreaterThan(last);
      last = lastOf(grant);
    };
    for (let round = 0; round < 5; round++) {
      await next('released#1', MINUTE);
      await scene.driver.release({ key: 'k', owner: 'released#1' });
      await next('expired#1', MINUTE);
      scene.server.advance(MINUTE);
      await next('cleaned-up#1', MINUTE);
      await scene.driver.release({ key: 'k', owner: 'cleaned-up#1' });
      scene.server.advance(HOUR);
      scene.server.purge();
      expect(scene.documents.size).toBe(0);
    }
  });

  it('are stored as 64-bit integers', async () => {
    await using scene = await frozen();
    await scene.driver.acquire({ key: 'k', owner: 'a#1', ttl: 1000 });
    expect(scene.documents.get('k')?.['last']).toEqual(Long.fromBigInt(BigInt(START) * 1000n));
  });

  it('are not taken from a grant that was so long under way that the record may have been purged', async () => {
    await using scene = await Scene.start();
    const real = performance.now.bind(performance);
    const wait = new Deferred();
    scene.server.faults.plan('findAndModify', { kind: 'delay', until: wait.promise });
    const acquiring = scene.driver.acquire({ key: 'k', owner: 'a#1', ttl: MINUTE });
    vi.spyOn(performance, 'now').mockImplementation(() => real() + 31_000);
    wait.resolve();
    await expect(acquiring).rejects.toThrow(LockDriverError);
  });
});

describe('documents of the MongoDB driver, on the stand-in', () => {
  it('are kept for the retention beyond the lease, and for as long as it is renewed', async () => {
    await using scene = await frozen({ driver: { retention: '5m' } });
    const lease = { key: 'k', owner: 'a#1', ttl: 10 * MINUTE };
    await scene.driver.acquire(lease);
    expect(purgeAtOf(scene.documents.get('k'))).toBe(START + 15 * MINUTE);
    scene.server.advance(5 * MINUTE);
    await scene.driver.renew([lease]);
    expect(purgeAtOf(scene.documents.get('k'))).toBe(START + 20 * MINUTE);
    scene.server.advance(5 * MINUTE);
    await scene.driver.acquire(lease);
    expect(purgeAtOf(scene.documents.get('k'))).toBe(START + 25 * MINUTE);
    await scene.driver.renew([{ ...lease, ttl: HOUR, bumpToken: 1 }]);
    expect(purgeAtOf(scene.documents.get('k'))).toBe(START + 10 * MINUTE + HOUR + 5 * MINUTE);
  });

  it('take leases that are longer than 32 bits of milliseconds, and parts of a millisecond', async () => {
    await using scene = await frozen();
    const lease = { key: 'k', owner: 'a#1', ttl: 1000 * HOUR };
    await scene.driver.acquire(lease);
    expect((await scene.driver.inspect('k'))?.remaining).toBe(1000 * HOUR);
    await scene.driver.renew([{ ...lease, ttl: 10.5, shorten: true }]);
    expect((await scene.driver.inspect('k'))?.remaining).toBe(11);
    await scene.driver.release({ ...lease, retainFor: 0.5 });
    expect((await scene.driver.inspect('k'))?.remaining).toBe(1);
  });

  it('are kept while a key is retained for longer than its lease', async () => {
    await using scene = await frozen();
    const lease = { key: 'k', owner: 'a#1' };
    await scene.driver.acquire({ ...lease, ttl: 1000 });
    await scene.driver.release({ ...lease, retainFor: HOUR });
    scene.server.advance(HOUR - 1);
    scene.server.purge();
    expect((await scene.driver.inspect('k'))?.owner).toBe('');
  });

  it('stay when the lock is released or taken by force, with their token', async () => {
    await using scene = await frozen();
    await scene.driver.acquire({ key: 'released', owner: 'a#1', ttl: 1000 });
    await scene.driver.acquire({ key: 'forced', owner: 'a#1', ttl: 1000 });
    await scene.driver.release({ key: 'released', owner: 'a#1' });
    await scene.driver.forceRelease('forced');
    scene.server.advance(59_000);
    scene.server.purge();
    expect([...scene.documents.keys()]).toEqual(['released', 'forced']);
  });

  it('are never purged while a lease is held, however long it is renewed', async () => {
    await using scene = await Scene.start();
    const lease = { key: 'k', owner: 'a#1', ttl: 30_000 };
    await scene.driver.acquire(lease);
    for (let round = 0; round < 20; round++) {
      scene.server.advance(29_000);
      scene.server.purge();
      expect(await scene.driver.renew([lease])).toEqual([{ renewed: true }]);
    }
  });

  it('are not written for a denial that leaves no mark', async () => {
    await using scene = await frozen();
    await scene.driver.acquire({ key: 'k', owner: 'a#1', ttl: 1000 });
    const { last } = scene.server.commands.store.changes;
    const other = await scene.another({ driver: { retention: '7m' } });
    await other.acquire({ key: 'k', owner: 'b#1', ttl: 5000 });
    expect(scene.server.commands.store.changes.last).toBe(last);
    await other.acquire({ key: 'k', owner: 'b#1', ttl: 5000, wantFor: 100 });
    expect(scene.server.commands.store.changes.last).toBe(last + 1);
  });

  it('are still their owner’s after the lease, to renew and to release, while nobody took them', async () => {
    await using scene = await frozen();
    const lease = { key: 'k', owner: 'a#1', ttl: 1000 };
    await scene.driver.acquire(lease);
    scene.server.advance(2000);
    expect(await scene.driver.renew([lease])).toEqual([{ renewed: true }]);
    scene.server.advance(2000);
    expect(await scene.driver.release(lease)).toEqual({ released: true });
  });

  it('give a holder that asks again no less time than it had', async () => {
    await using scene = await frozen();
    await scene.driver.acquire({ key: 'k', owner: 'a#1', ttl: HOUR });
    await scene.driver.acquire({ key: 'k', owner: 'a#1', ttl: 1000 });
    expect((await scene.driver.inspect('k'))?.remaining).toBe(HOUR);
  });

  it('are free after a release even if the clock is put back', async () => {
    await using scene = await frozen();
    const lease = { key: 'k', owner: 'a#1', ttl: 1000 };
    await scene.driver.acquire(lease);
    await scene.driver.release(lease);
    scene.server.advance(-HOUR);
    expect(await scene.driver.acquire({ ...lease, owner: 'b#1' })).toHaveProperty('firstToken');
  });
});
