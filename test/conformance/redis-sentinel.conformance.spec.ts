import * as vitest from 'vitest';
import { afterAll, beforeAll, describe } from 'vitest';
import { describeLockDriver } from '../../lib/testing/driver-conformance.js';
import { describeLockService } from '../../lib/testing/service-conformance.js';
import { SENTINEL_LIBRARIES } from '../support/redis/client-libraries.js';
import { redisConformance } from '../support/redis/redis-conformance.js';
import { RedisSentinels } from '../support/redis/redis-sentinels.js';
import { hasRedisProgram, redisProgram } from '../support/redis/use-redis.js';

let trio: RedisSentinels;

describe.skipIf(!hasRedisProgram)('a primary that sentinels watch over', () => {
  beforeAll(async () => {
    trio = await RedisSentinels.start(redisProgram);
  });
  afterAll(() => trio.stop());

  describe.each(SENTINEL_LIBRARIES)('$name', (library) => {
    const options = redisConformance({
      client: () => library.sentinel(trio),
      // A grant counts when the replica has it.
      options: { replicas: { min: 1, timeout: '5s' } },
    });
    describeLockDriver(vitest, options);
    describeLockService(vitest, options);
  });
});
