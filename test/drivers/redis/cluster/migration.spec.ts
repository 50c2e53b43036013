import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LockHandle } from '../../../../lib/interfaces/lock-handle.interface.js';
import { ioredis5, ioredis6, nodeRedis6 } from '../../../support/redis/client-libraries.js';
import { eventually } from '../../../support/redis/eventually.js';
import { OpenLocks } from '../../../support/redis/open-locks.js';
import { RedisCluster } from '../../../support/redis/redis-cluster.js';
import { inTime } from '../../../support/redis/timed.js';
import { hasRedisProgram, redisProgram } from '../../../support/redis/use-redis.js';
import { Witness } from '../../../support/redis/witness.js';

const KEYS = 20;

describe.skipIf(!hasRedisProgram).concurrent.each([ioredis5, ioredis6, nodeRedis6])(
  'a slot that moves, with $name',
  { timeout: 60_000 },
  (library) => {
    let cluster: RedisCluster;

    beforeAll(async () => {
      cluster = await RedisCluster.start(redisProgram);
    }, 60_000);
    afterAll(() => cluster.stop());

    const tag = '{moving}';
    const keys = Array.from({ length: KEYS }, (_, i) => `${tag}:${i}`);
    const open = (): Promise<OpenLocks> => OpenLocks.start(library.cluster(cluster.servers));

    it.sequential(
      'takes no lock along, and gives none twice: locks are taken, renewed and released by batches',
      async () => {
        await using mine = await open();
        await using other = await open();
        const tokens = new Map<string, bigint>();
        const takeAll = async (): Promise<readonly LockHandle[]> => {
          const locks = await inTime(
            Promise.all(keys.map((key) => mine.locks.acquire(key, { wait: '20s' }))),
            20_000,
          );
          for (const [i, { fencingToken }] of locks.entries()) {
            expect(fencingToken).toBeGreaterThan(tokens.get(keys[i] as string) ?? 0n);
            tokens.set(keys[i] as string, fencingToken);
          }
          await expectHeld();
          return locks;
        };
        const expectHeld = async (): Promise<void> => {
          const tries = await Promise.all(keys.map((key) => other.locks.tryAcquire(key)));
          expect(tries).toEqual(keys.map(() => null));
        };
        const renewAll = async (locks: readonly LockHandle[]): Promise<void> => {
          const requests = locks.map(({ owner }, i) => ({
            key: keys[i] as string,
            owner,
            ttl: 30_000,
          }));
          await expect(mine.driver.renew(requests)).resolves.toEqual(
            keys.map(() => ({ renewed: true })),
          );
        };
        const releaseAll = async (locks: readonly LockHandle[]): Promise<void> => {
          await Promise.all(locks.map((lock) => lock.release()));
          await eventually('all are free', async () => {
            return (await mine.locks.list({ prefix: tag })).length === 0;
          });
        };
        const names = keys.map((key) => `lock:${key}`);

        const before = await takeAll();
        const migration = await cluster.migrationOf(names[0] as string);
        await migration.begin();
        await renewAll(before);
        await migration.moveKeys(...names.slice(0, KEYS / 2));
        await renewAll(before);
        await expectHeld();
        await releaseAll(before);
        const during = await takeAll();
        await renewAll(during);
        await migration.moveKeys();
        await renewAll(during);
        await expectHeld();
        await migration.finish();
        await renewAll(during);
        await expectHeld();
        await releaseAll(during);
        await releaseAll(await takeAll());
        const [from, to] = await Promise.all([
          migration.from.server.info('errorstats'),
          migration.to.server.info('errorstats'),
        ]);
        expect([...from.keys()]).toContain('errorstat_TRYAGAIN');
        expect([...from.keys()]).toContain('errorstat_ASK');
        expect([...to.keys()]).toContain('errorstat_NOSCRIPT');
        expect(mine.count('lost')).toBe(0);
      },
    );

    it.sequential('lets one holder in after the other while it goes back and forth', async () => {
      await using mine = await open();
      await using other = await open();
      const witness = new Witness('contended', { wait: '20s' });
      let moves = 0;
      const watching = witness.watch([mine.locks, other.locks], () => moves < 4, 2);
      for (; moves < 4; moves++) {
        const { turns } = witness;
        const migration = await cluster.migrationOf(`lock:${witness.key}`);
        await migration.begin();
        await migration.moveKeys();
        await migration.finish();
        await eventually('it goes on', () => witness.turns > turns + 10);
      }
      await watching;
      expect(witness.complaints).toEqual([]);
      expect(witness.errors).toEqual([]);
      await eventually('it is free', async () => (await mine.locks.inspect(witness.key)) === null);
    });
  },
);
