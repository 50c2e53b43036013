import { describe, expect, it } from 'vitest';
import { LockDriverError } from '../../../../lib/errors/lock-driver.error.js';
import { checkServers } from '../../../../lib/drivers/redis/server-check.js';

/** What a server says of itself. */
function info(facts: Readonly<Record<string, string>>, newline = '\r\n'): string {
  const said = { redis_version: '7.0.15', role: 'master', ...facts };
  const lines = Object.entries(said).map(([name, value]) => `${name}:${value}`);
  return ['# Server', ...lines, '', ''].join(newline);
}

const ofVersion = (redis_version: string): string => info({ redis_version });

describe('a server', () => {
  it.each(['2.8.24', '5.0.14', '6.0.20', '6.1.240', ''])('of version %j is refused', (version) => {
    expect(() => checkServers([ofVersion(version)])).toThrow(LockDriverError);
    expect(() => checkServers([ofVersion(version)])).toThrow(`${version}; locks need 6.2 or later`);
  });

  it.each(['6.2.0', '6.2.14', '6.10.0'])(
    'of version %s is taken, and knows no flags',
    (version) => {
      expect(checkServers([ofVersion(version)])).toEqual({ isModern: false, warnings: [] });
    },
  );

  it.each(['7.0.0', '7.2.4', '8.0.1', '8.4', '10.0.0', '255.255.255'])(
    'of version %s is taken, and knows flags',
    (version) => {
      expect(checkServers([ofVersion(version)])).toEqual({ isModern: true, warnings: [] });
    },
  );

  it('of Valkey is taken by the version of Redis that it stands for', () => {
    const valkey = info({
      redis_version: '7.2.4',
      server_name: 'valkey',
      valkey_version: '8.1.0',
      maxmemory_policy: 'noeviction',
    });
    expect(checkServers([valkey])).toEqual({ isModern: true, warnings: [] });
  });

  it('that is a replica is refused, and its primary is named', () => {
    const replica = info({ role: 'slave', master_host: '10.0.0.7', master_port: '6380' });
    expect(() => checkServers([replica])).toThrow(LockDriverError);
    expect(() => checkServers([replica])).toThrow('10.0.0.7:6380');
  });

  it.each([
    'allkeys-lru',
    'allkeys-lfu',
    'allkeys-random',
    'allkeys-lrm',
    'volatile-lru',
    'volatile-lfu',
    'volatile-random',
    'volatile-ttl',
  ])('that may evict locks is warned of: %s', (maxmemory_policy) => {
    const { warnings } = checkServers([info({ maxmemory_policy })]);
    expect(warnings).toEqual([expect.stringContaining(`maxmemory-policy is ${maxmemory_policy}.`)]);
  });

  it('that evicts nothing, or does not say so, is not warned of', () => {
    expect(checkServers([info({ maxmemory_policy: 'noeviction' })]).warnings).toEqual([]);
    expect(checkServers([info({})]).warnings).toEqual([]);
  });

  it('may end its lines by CRLF or LF', () => {
    const facts = { redis_version: '6.2.1', maxmemory_policy: 'noeviction' };
    const old = { ...facts, redis_version: '5.0.1' };
    for (const newline of ['\r\n', '\n']) {
      expect(checkServers([info(facts, newline)])).toEqual({ isModern: false, warnings: [] });
      expect(() => checkServers([info(old, newline)])).toThrow('Redis 5.0.1;');
    }
  });

  it('may have values with colons in them', () => {
    const replica = info({ role: 'slave', master_host: 'fd00::7', master_port: '6380' });
    expect(() => checkServers([replica])).toThrow('fd00::7:6380');
  });
});

describe('several servers', () => {
  it('know flags only if all of them do', () => {
    expect(checkServers([ofVersion('7.0.0'), ofVersion('8.0.0')]).isModern).toBe(true);
    expect(checkServers([ofVersion('7.0.0'), ofVersion('6.2.0')]).isModern).toBe(false);
  });

  it('are refused if one of them is, the last too', () => {
    expect(() => checkServers([ofVersion('7.0.0'), ofVersion('5.0.0')])).toThrow('5.0.0');
    expect(() => checkServers([info({}), info({ role: 'slave' })])).toThrow('replica');
  });

  it('are warned of once for each policy', () => {
    const infos = ['allkeys-lru', 'noeviction', 'allkeys-lru', 'volatile-ttl'].map(
      (maxmemory_policy) => info({ maxmemory_policy }),
    );
    expect(checkServers(infos).warnings).toEqual([
      expect.stringContaining('allkeys-lru'),
      expect.stringContaining('volatile-ttl'),
    ]);
  });
});
