import type { Document } from 'bson';
import { describe, expect, it } from 'vitest';
import { Scene } from './scene.js';

const LONG = 600_000;

const lease = (key: string, owner = 'a#1') => ({ key, owner, ttl: LONG });

/** All objects in a command that have a string somewhere, with their path. */
function placesOf(value: unknown, wanted: string, path: readonly string[] = []): string[] {
  if (value === wanted) {
    return [path.join('.')];
  }
  if (typeof value !== 'object' || value === null) {
    return [];
  }
  return Object.entries(value).flatMap(([name, inner]) => placesOf(inner, wanted, [...path, name]));
}

describe('the commands of the MongoDB driver, on the stand-in', () => {
  it('are one per acquire and one per release', async () => {
    await using scene = await Scene.start();
    await scene.driver.acquire(lease('k'));
    expect(scene.names).toEqual(['findAndModify']);
    await scene.driver.acquire({ ...lease('k', 'b#1'), wantFor: 100 });
    expect(scene.names).toEqual(['findAndModify', 'findAndModify']);
    await scene.driver.release(lease('k'));
    expect(scene.names).toEqual(['findAndModify', 'findAndModify', 'findAndModify']);
  });

  it('are one for the renewal of a thousand leases that are all held', async () => {
    await using scene = await Scene.start();
    const leases = Array.from({ length: 1000 }, (_, i) => lease(`k${i}`));
    await Promise.all(leases.map((each) => scene.driver.acquire(each)));
    scene.sent.length = 0;
    const results = await scene.driver.renew(leases);
    expect(results.every(({ renewed }) => renewed)).toBe(true);
    expect(scene.names).toEqual(['update']);
    expect(scene.sent[0]?.command['updates']).toHaveLength(1000);
  });

  it('are two for a renewal where some are not held any more', async () => {
    await using scene = await Scene.start();
    const leases = Array.from({ length: 500 }, (_, i) => lease(`k${i}`));
    await Promise.all(leases.slice(0, 400).map((each) => scene.driver.acquire(each)));
    scene.sent.length = 0;
    const results = await scene.driver.renew(leases);
    expect(results.map(({ renewed }) => renewed)).toEqual(leases.map((_, i) => i < 400));
    expect(scene.names).toEqual(['update', 'find']);
  });

  it('are one more for each lease that wants new tokens', async () => {
    await using scene = await Scene.start();
    const leases = [lease('k1'), lease('k2')];
    await Promise.all(leases.map((each) => scene.driver.acquire(each)));
    scene.sent.length = 0;
    await scene.driver.renew([lease('k1'), { ...lease('k2'), bumpToken: 3 }]);
    expect(scene.names.toSorted()).toEqual(['findAndModify', 'update']);
  });

  it('are none for the renewal of nothing', async () => {
    await using scene = await Scene.start();
    expect(await scene.driver.renew([])).toEqual([]);
    expect(scene.names).toEqual([]);
  });

  it('are one each to inspect, list and force', async () => {
    await using scene = await Scene.start();
    await Promise.all(Array.from({ length: 150 }, (_, i) => scene.driver.acquire(lease(`k${i}`))));
    scene.sent.length = 0;
    await scene.driver.inspect('k1');
    expect(await scene.driver.list({ limit: 1000 })).toHaveLength(150);
    await scene.driver.forceRelease('k1');
    expect(scene.names).toEqual(['find', 'find', 'findAndModify']);
  });

  it('need no second command to read an answer to its end', async () => {
    await using scene = await Scene.start();
    const keys = ['k1', 'k2', 'k3'];
    await Promise.all(keys.map((key) => scene.driver.acquire(lease(key, 'other#1'))));
    const results = await scene.driver.renew(keys.map((key) => lease(key)));
    expect(results.filter(({ renewed }) => renewed)).toEqual([]);
    await scene.driver.inspect('k1');
    expect(await scene.driver.list({ limit: 3 })).toHaveLength(3);
    expect(scene.server.log).not.toContain('getMore');
    expect(scene.server.log).not.toContain('killCursors');
  });

  it('find the document of an acquire by its key alone', async () => {
    await using scene = await Scene.start();
    await scene.driver.acquire(lease('k'));
    const { command } = scene.sent[0] as { command: Document };
    expect(command).toMatchObject({ query: { _id: 'k' }, upsert: true, new: true });
    expect(Object.keys(command['query'] as object)).toEqual(['_id']);
  });

  it('are confirmed by a majority within the time that the options give', async () => {
    await using scene = await Scene.start({
      driver: { timeout: '3s' },
      client: { writeConcern: { w: 1 } },
    });
    await scene.driver.acquire(lease('k'));
    await scene.driver.renew([lease('k')]);
    await scene.driver.release(lease('k'));
    for (const { command } of scene.sent) {
      expect(command).toMatchObject({
        writeConcern: { w: 'majority', wtimeout: 3000 },
        maxTimeMS: 3000,
      });
    }
  });

  it('read from the primary whatever the client prefers', async () => {
    await using scene = await Scene.start({ client: { readPreference: 'secondaryPreferred' } });
    await scene.driver.acquire(lease('k'));
    await scene.driver.inspect('k');
    expect(scene.sent[1]?.command).toMatchObject({ readConcern: { level: 'local' } });
    expect(scene.sent[1]?.command['$readPreference']).toBeUndefined();
  });

  it('can be written to a log as JSON', async () => {
    await using scene = await Scene.start();
    await scene.driver.acquire({ ...lease('k'), tokens: 1024, wantFor: 10 });
    await scene.driver.renew([lease('k'), { ...lease('k'), bumpToken: 1024 }]);
    await scene.driver.release({ ...lease('k'), retainFor: 10 });
    expect(() => JSON.stringify(scene.sent.map(({ command }) => command))).not.toThrow();
  });

  it('are never part of a transaction', async () => {
    await using scene = await Scene.start();
    await scene.driver.acquire(lease('k'));
    await scene.driver.renew([lease('k')]);
    await scene.driver.release(lease('k'));
    expect(scene.sent.filter(({ command }) => 'startTransaction' in command)).toEqual([]);
    expect(scene.sent.filter(({ command }) => 'autocommit' in command)).toEqual([]);
  });

  it('have no string of a user where it could be taken for an expression', async () => {
    await using scene = await Scene.start();
    const odd = { key: '$key', owner: '$$owner', ttl: LONG };
    await scene.driver.acquire({ ...odd, tokens: 5, wantFor: 5 });
    await scene.driver.renew([odd, { ...odd, key: '$gone' }, { ...odd, bumpToken: 2 }]);
    expect((await scene.driver.inspect('$key'))?.owner).toBe('$$owner');
    await scene.driver.release({ ...odd, retainFor: LONG });
    await scene.driver.forceRelease('$key');
    const places = scene.sent.flatMap(({ command }) => [
      ...placesOf(command, '$key'),
      ...placesOf(command, '$$owner'),
    ]);
    const inFilter = /(^|\.)(query|q|filter)\.(_id|owner)(\.\$in\.\d)?$/;
    expect(places.filter((place) => !inFilter.test(place) && !place.endsWith('.$literal'))).toEqual(
      [],
    );
    expect(places.length).toBeGreaterThan(scene.sent.length);
  });
});
