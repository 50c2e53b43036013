import { findOrInstall, type ProgramSource } from '../programs.js';

/** A server that runs already, a program to start one, or the reason why there is neither. */
export type RedisSource = { readonly kind: 'url'; readonly url: string } | ProgramSource;

/** `REDIS_URL`, else `redis-server` on the PATH, which root on Debian installs if it is not there. */
export async function findRedis(): Promise<RedisSource> {
  const url = process.env['REDIS_URL'];
  if (url) {
    return { kind: 'url', url };
  }
  const hint = 'Install redis-server, or say in REDIS_URL where one runs.';
  return findOrInstall('redis-server', hint);
}
