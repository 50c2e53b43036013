import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, inject } from 'vitest';

const START_TIMEOUT = 10_000;
const PORT_TRIES = 5;

/** How to start a server; the arguments make a replica, a cluster node or a sentinel of it. */
export interface RedisServerOptions {
  readonly args?: readonly string[];
}

/** A redis-server process of our own: on a free port of this machine, without persistence. */
export class RedisServer implements AsyncDisposable {
  private constructor(
    readonly port: number,
    private readonly folder: string,
    private readonly child: ChildProcess,
  ) {
    process.once('exit', this.kill);
  }

  static async start(program: string, options: RedisServerOptions = {}): Promise<RedisServer> {
    const folder = await mkdtemp(join(tmpdir(), 'redis-test-'));
    for (let tries = 1; ; tries++) {
      const port = await freePort();
      const child = spawn(program, serverArgs(port, folder, options.args), {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      try {
        await untilReady(child);
        return new RedisServer(port, folder, child);
      } catch (error) {
        child.kill('SIGKILL');
        if (tries === PORT_TRIES || !String(error).includes('Address already in use')) {
          await rm(folder, { recursive: true, force: true });
          throw error;
        }
      }
    }
  }

  get host(): string {
    return '127.0.0.1';
  }

  get url(): string {
    return `redis://${this.host}:${this.port}`;
  }

  /** The process, for tests that pause or kill it. */
  get pid(): number {
    return this.child.pid as number;
  }

  async stop(): Promise<void> {
    process.off('exit', this.kill);
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const exited = once(this.child, 'exit');
      this.kill();
      await exited;
    }
    await rm(this.folder, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  // There is nothing to save, and a paused process does not hear anything gentler.
  private readonly kill = (): void => {
    this.child.kill('SIGKILL');
  };
}

/** What a test needs to know of the server that it uses. */
export interface RedisAddress {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly username?: string;
  readonly password?: string;
}

/** Whether there can be a server here; tests that need one are skipped otherwise, as the run's start has told. */
export const hasRedis = inject('redis').kind !== 'none';

/** A server for the tests of this file: that of `REDIS_URL`, which others may use too, or one of its own. */
export function useRedis(): () => RedisAddress {
  const source = inject('redis');
  let server: RedisServer | undefined;
  beforeAll(async () => {
    server = source.kind === 'program' ? await RedisServer.start(source.path) : undefined;
  });
  afterAll(() => server?.stop());
  return () => (source.kind === 'url' ? addressOf(source.url) : (server as RedisServer));
}

function addressOf(url: string): RedisAddress {
  const { hostname, port, username, password } = new URL(url);
  return {
    url,
    host: hostname,
    port: Number(port || 6379),
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
  };
}

function serverArgs(port: number, folder: string, args: readonly string[] = []): string[] {
  const fixed = { port, bind: '127.0.0.1', dir: folder, save: '', appendonly: 'no' };
  return [...Object.entries(fixed).flatMap(([name, value]) => [`--${name}`, `${value}`]), ...args];
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

function untilReady(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = '';
    const fail = (why: string): void => reject(new Error(`redis-server ${why}: ${output}`));
    const timer = setTimeout(() => fail(`did not start in ${START_TIMEOUT} ms`), START_TIMEOUT);
    const listen = (chunk: Buffer): void => {
      output += chunk.toString();
      if (/ready to accept connections/i.test(output)) {
        clearTimeout(timer);
        // Read on, or its pipe runs full.
        child.stdout?.off('data', listen).resume();
        resolve();
      }
    };
    child.stdout?.on('data', listen);
    child.stderr?.on('data', listen);
    child.once('error', (error) => fail(`cannot be run (${error.message})`));
    child.once('exit', (code) => {
      clearTimeout(timer);
      fail(`ended with ${code}`);
    });
  });
}
