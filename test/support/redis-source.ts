import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A server that runs already, a program to start one, or the reason why there is neither. */
export type RedisSource =
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'program'; readonly path: string }
  | { readonly kind: 'none'; readonly reason: string };

/** `REDIS_URL`, else `redis-server` on the PATH, which root on Debian installs if it is not there. */
export async function findRedis(): Promise<RedisSource> {
  const url = process.env['REDIS_URL'];
  if (url) {
    return { kind: 'url', url };
  }
  const path = await findProgram('redis-server');
  return path === undefined ? installRedis() : { kind: 'program', path };
}

async function installRedis(): Promise<RedisSource> {
  const hint = 'Install redis-server, or say in REDIS_URL where one runs.';
  if (process.getuid?.() !== 0 || (await findProgram('apt-get')) === undefined) {
    return {
      kind: 'none',
      reason: `there is no redis-server here, and only root on Debian can install it. ${hint}`,
    };
  }
  console.log('Installing redis-server ...');
  try {
    // Fresh machines have no package lists, and old lists name packages that are gone.
    await aptGet('update');
    await aptGet('install', '--yes', '--no-install-recommends', 'redis-server');
  } catch (error) {
    return { kind: 'none', reason: `apt-get failed: ${String(error)}. ${hint}` };
  }
  const path = await findProgram('redis-server');
  return path === undefined
    ? { kind: 'none', reason: `apt-get installed no redis-server. ${hint}` }
    : { kind: 'program', path };
}

/** Waits for another run that is installing too. */
async function aptGet(...args: string[]): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  await run('apt-get', ['-o', 'DPkg::Lock::Timeout=120', '-qq', ...args], { env });
}

/** The path of a program on the PATH, if it is there. */
export async function findProgram(name: string): Promise<string | undefined> {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, name);
    if (
      await access(path, constants.X_OK).then(
        () => true,
        () => false,
      )
    ) {
      return path;
    }
  }
  return undefined;
}
