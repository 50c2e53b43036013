import { AsyncLocalStorage } from 'node:async_hooks';
import { MongoClient } from 'mongodb';
import { MongoClient as MongoClient6 } from 'mongodb6';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { LockService } from '../../../lib/lock.service.js';
import { MongoLockDriver } from '../../../lib/drivers/mongo/mongo-lock.driver.js';
import type { Fault } from '../../support/mongo/faults.js';
import { Scene, until } from './scene.js';

const LONG = 600_000;
/** So long that only a notice can come before the test is over. */
const PATIENT = { ttl: LONG, wait: Infinity, retry: { min: '5m', max: '5m' } } as const;
const lease = { key: 'k', owner: 'a#1', ttl: LONG };

/** What the client does not resume from by itself. */
const HISTORY_LOST: Fault = { kind: 'error', code: 286, codeName: 'ChangeStreamHistoryLost' };
const UNAUTHORIZED: Fault = { kind: 'error', code: 13, codeName: 'Unauthorized' };

const streamsOf = ({ server }: Scene): number =>
  server.log.filter((name) => name === 'aggregate').length;

interface Heard {
  count: number;
}

/** Counts the notices of some keys, once the one has come that says that all are listened to. */
async function listenTo(driver: MongoLockDriver, ...keys: string[]): Promise<Heard[]> {
  const heard = keys.map((key) => {
    const notices: Heard = { count: 0 };
    driver.onReleased?.(key, () => notices.count++);
    return notices;
  });
  await until('the stream to be live', () => heard.every(({ count }) => count > 0));
  heard.forEach((notices) => (notices.count = 0));
  return heard;
}

const listen = async (driver: MongoLockDriver): Promise<Heard> =>
  (await listenTo(driver, 'k'))[0] as Heard;

async function releaseWanted(driver: MongoLockDriver, key = 'k'): Promise<void> {
  await driver.acquire({ ...lease, key });
  await driver.acquire({ ...lease, key, owner: 'b#1', wantFor: LONG });
  await driver.release({ ...lease, key });
}

const returnsTrue = (): boolean => true;
const returnsFalse = (): boolean => false;

afterEach(() => {
  vi.restoreAllMocks();
});

describe('the change stream of the MongoDB driver, on the stand-in', () => {
  it.each(['update', 'replace'] as const)(
    'wakes a waiter of another process, told by an event of type %s',
    async (form) => {
      await using scene = await Scene.start();
      scene.server.commands.store.changeForm = form;
      await using other = new LockService({ driver: await scene.another(), drainTimeout: 0 });
      const held = await scene.service().acquire('k', PATIENT);
      const waiting = other.acquire('k', PATIENT);
      await until('the mark', () => scene.documents.get('k')?.['wanted'] instanceof Date);
      await until('the stream', () => scene.server.commands.cursors.size === 1);
      await held.release();
      expect(await (await waiting).release()).toBe(true);
    },
  );

  it('is opened for the first listener, and is one for all', async () => {
    await using scene = await Scene.start();
    expect(streamsOf(scene)).toBe(0);
    await listenTo(scene.driver, 'a', 'b', 'c');
    expect(streamsOf(scene)).toBe(1);
  });

  it('tells nobody of a release that nobody wanted', async () => {
    await using scene = await Scene.start();
    const heard = await listen(scene.driver);
    await scene.driver.acquire(lease);
    await scene.driver.release(lease);
    await releaseWanted(scene.driver);
    await until('the second release', () => heard.count > 0);
    expect(heard.count).toBe(1);
  });

  it.each(['update', 'replace'] as const)(
    'tells once of a key that is retained while others go on asking for it: %s',
    async (form) => {
      await using scene = await Scene.start();
      scene.server.commands.store.changeForm = form;
      const [heard, marker] = await listenTo(scene.driver, 'k', 'marker');
      const asking = { ...lease, owner: 'b#1', wantFor: LONG };
      await scene.driver.acquire(lease);
      await scene.driver.acquire(asking);
      await scene.driver.release({ ...lease, retainFor: LONG });
      await scene.driver.acquire({ ...asking, wantFor: 2 * LONG });
      await scene.driver.acquire({ ...asking, wantFor: 3 * LONG });
      await releaseWanted(scene.driver, 'marker');
      await until('the marker', () => marker?.count === 1);
      expect(heard?.count).toBe(1);
    },
  );

  it('tells of a release by force', async () => {
    await using scene = await Scene.start();
    const heard = await listen(scene.driver);
    await scene.driver.acquire(lease);
    await scene.driver.acquire({ ...lease, owner: 'b#1', wantFor: LONG });
    await scene.driver.forceRelease('k');
    await until('the notice', () => heard.count > 0);
    expect(heard.count).toBe(1);
  });

  it('goes on where it was when the connection is cut', async () => {
    await using scene = await Scene.start();
    const heard = await listen(scene.driver);
    scene.server.cutAll();
    // The client tries once more, and may meet the end of another connection.
    await until('a release', () => releaseWanted(scene.driver).then(returnsTrue, returnsFalse));
    await until('the notice', () => heard.count > 0);
    expect(scene.driver.onReleased).toBeDefined();
  });

  it('goes on where it was after a fail-over', async () => {
    await using scene = await Scene.start();
    const heard = await listen(scene.driver);
    scene.server.commands.cursors.killAll();
    await releaseWanted(scene.driver);
    await until('the notice', () => heard.count > 0);
    expect(streamsOf(scene)).toBe(2);
  });

  it('is as if there were none while it is broken, and tells everybody when it is back', async () => {
    await using scene = await Scene.start();
    const heard = await listenTo(scene.driver, 'k', 'other');
    scene.server.faults.plan('getMore', HISTORY_LOST);
    await until('the break', () => scene.driver.onReleased === undefined);
    await until('the return', () => scene.driver.onReleased !== undefined);
    expect(heard).toEqual([{ count: 1 }, { count: 1 }]);
    await releaseWanted(scene.driver);
    await until('the notice', () => heard[0]?.count === 2);
  });

  it.each([MongoClient, MongoClient6])(
    'comes back when the server has ended it',
    async (Client) => {
      await using scene = await Scene.start();
      const client = new Client(scene.server.url);
      const driver = new MongoLockDriver(client.db('locks'));
      await driver.connect();
      const heard = await listen(driver);
      scene.server.commands.cursors.invalidate();
      await until('the break', () => driver.onReleased === undefined);
      await until('the return', () => driver.onReleased !== undefined);
      expect(heard.count).toBe(1);
      await driver.close();
      await client.close();
    },
  );

  it('is tried again by the next listener where all had left it broken', async () => {
    await using scene = await Scene.start();
    const leave = scene.driver.onReleased?.('k', () => undefined);
    await until('the stream', () => scene.server.commands.cursors.size > 0);
    scene.server.faults.plan('getMore', HISTORY_LOST);
    leave?.();
    await until('the break', () => scene.driver.onReleased === undefined);
    await until('another chance', () => scene.driver.onReleased !== undefined);
    expect(streamsOf(scene)).toBe(1);
    await listen(scene.driver);
    expect(streamsOf(scene)).toBe(2);
  });

  it('lets waiters poll where it is not allowed, and says so once', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue();
    await using scene = await Scene.start();
    scene.server.faults.plan('aggregate', UNAUTHORIZED, Infinity);
    await using other = new LockService({ driver: await scene.another(), drainTimeout: 0 });
    const held = await scene.service().acquire('k', { ttl: LONG });
    const waiting = other.acquire('k', { ttl: LONG, wait: Infinity });
    await until('the warning', () => warn.mock.calls.length > 0);
    await held.release();
    expect(await (await waiting).release()).toBe(true);
    expect(warn).toHaveBeenCalledTimes(1);
    expect(warn.mock.calls[0]).toEqual([
      expect.stringContaining('changeStream'),
      { code: 'LOCK_MONGO_CHANGE_STREAM' },
    ]);
  });

  it('is none on a single server, nor beside a single connection, nor where the options say so', async () => {
    await using single = await Scene.start({ server: {} });
    expect(single.driver.onReleased).toBeUndefined();
    await using narrow = await Scene.start({ client: { maxPoolSize: 1 } });
    expect(narrow.driver.onReleased).toBeUndefined();
    await using scene = await Scene.start({ driver: { changeStream: false } });
    expect(scene.driver.onReleased).toBeUndefined();
    await using other = new LockService({ driver: await scene.another(), drainTimeout: 0 });
    expect(await (await other.acquire('k')).release()).toBe(true);
    expect(streamsOf(scene)).toBe(0);
  });

  it('is closed when nobody has listened for long', async () => {
    await using scene = await Scene.start();
    const leave = scene.driver.onReleased?.('k', () => undefined);
    await until('the stream', () => scene.server.commands.cursors.size > 0);
    leave?.();
    const real = performance.now.bind(performance);
    const now = vi.spyOn(performance, 'now').mockImplementation(() => real() + 40_000);
    await until('the end of the stream', () => scene.server.commands.cursors.size === 0);
    now.mockRestore();
    await listen(scene.driver);
    expect(streamsOf(scene)).toBe(2);
  });

  it('ends with the driver, and can be ended twice', async () => {
    await using scene = await Scene.start();
    await listen(scene.driver);
    await scene.driver.close();
    await scene.driver.close();
    await until('the end of the stream', () => scene.server.commands.cursors.size === 0);
    expect(scene.driver.onReleased).toBeUndefined();
    await scene.driver.acquire(lease);
    expect(await scene.driver.release(lease)).toEqual({ released: true });
  });

  it('comes back with a driver that is connected again', async () => {
    await using scene = await Scene.start();
    await listen(scene.driver);
    await scene.driver.close();
    await scene.driver.connect();
    const heard = await listen(scene.driver);
    await releaseWanted(scene.driver);
    await until('the notice', () => heard.count > 0);
    expect(streamsOf(scene)).toBe(2);
  });

  it('ends with the driver while it is being opened, and while it is broken', async () => {
    await using scene = await Scene.start();
    scene.driver.onReleased?.('k', () => undefined);
    await scene.driver.close();
    await until('the end of the stream', () => scene.server.commands.cursors.size === 0);
    const other = await scene.another();
    scene.server.faults.plan('aggregate', HISTORY_LOST, Infinity);
    other.onReleased?.('k', () => undefined);
    await until('the break', () => other.onReleased === undefined);
    await other.close();
    expect(other.onReleased).toBeUndefined();
  });

  it('does not hold up the end of the driver when the server hangs', async () => {
    await using scene = await Scene.start();
    scene.server.faults.plan('getMore', { kind: 'hang', when: 'before' }, Infinity);
    scene.server.faults.plan('killCursors', { kind: 'hang', when: 'before' }, Infinity);
    await listen(scene.driver);
    await scene.driver.close();
    expect(scene.server.log).toContain('killCursors');
  });

  it('does no harm when the client is closed under it', async () => {
    await using scene = await Scene.start();
    await listen(scene.driver);
    await scene.client.close();
    await until('the break', () => scene.driver.onReleased === undefined);
    await expect(scene.driver.close()).resolves.toBeUndefined();
  });

  it('keeps nothing of the async context of the caller it was opened for', async () => {
    await using scene = await Scene.start();
    const storage = new AsyncLocalStorage<string>();
    const seen: (string | undefined)[] = [];
    storage.run('request', () => {
      scene.driver.onReleased?.('k', () => seen.push(storage.getStore()));
    });
    await until('the notice', () => seen.length > 0);
    expect(seen).toEqual([undefined]);
  });
});
