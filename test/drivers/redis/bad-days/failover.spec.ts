import { describe, expect, it } from 'vitest';
import type { LockHandle } from '../../../../lib/interfaces/lock-handle.interface.js';
import { ioredis5, ioredis6 } from '../../../support/redis/client-libraries.js';
import { eventually } from '../../../support/redis/eventually.js';
import { OpenLocks } from '../../../support/redis/open-locks.js';
import { untilReplicated } from '../../../support/redis/redis-replica.js';
import { RedisSentinels } from '../../../support/redis/redis-sentinels.js';
import { inTime } from '../../../support/redis/timed.js';
import { hasRedisProgram, redisProgram } from '../../../support/redis/use-redis.js';
import { Witness } from '../../../support/redis/witness.js';

const CASES = [
  { how: 'command', library: ioredis5 },
  { how: 'kill', library: ioredis5 },
  { how: 'pause', library: ioredis5 },
  { how: 'kill', library: ioredis6 },
  { how: 'pause', library: ioredis6 },
] as const;

describe.skipIf(!hasRedisProgram)('a failover by Sentinel', { timeout: 60_000 }, () => {
  // They take their time, all of them at once.
  it.concurrent.each(CASES)(
    'leaves locks to their holders that the replica has ($how), with $library.name',
    async ({ how, library }) => {
      await using trio = await RedisSentinels.start(redisProgram);
      // A primary that stands still says nothing: somebody has to tell the client.
      const open = (): Promise<OpenLocks> =>
        OpenLocks.start(library.sentinel(trio, { failoverDetector: how === 'pause' }));
      await using mine = await open();
      await using other = await open();
      const kept = await mine.locks.acquire('kept', { ttl: '20s' });
      const witness = new Witness('a', { wait: '30s', ttl: '20s' });
      await witness.turn(mine.locks);
      await untilReplicated(trio.primary, trio.replica);

      await trio.failover(how);
      const next: LockHandle = await inTime(other.locks.acquire('a', { wait: '40s' }), 40_000);
      witness.saw(next);
      await next.release();
      await witness.turn(mine.locks);
      await eventually('it is renewed', () => mine.count('renewed') > 0);
      expect(kept.held).toBe(true);
      await expect(other.locks.tryAcquire('kept')).resolves.toBeNull();
      await expect(kept.release()).resolves.toBe(true);
      expect(witness.complaints).toEqual([]);
      expect(witness.errors).toEqual([]);
    },
  );
});
