import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './eventually.js';
import { freePort, onFreePort } from './free-port.js';
import { RawRedis } from './raw-redis.js';
import { RedisProcess } from './redis-process.js';
import {
  type RedisServerOptions,
  SENTINEL_FILE,
  sentinelConfig,
  serverArgs,
} from './redis-server-args.js';
import type { RespValue } from './resp-reader.js';

export type { RedisServerOptions } from './redis-server-args.js';

const HOST = '127.0.0.1';

/** A redis-server of our own: on a free port of this machine, and it writes only what a test tells it to. */
export class RedisServer implements AsyncDisposable {
  private constructor(
    readonly port: number,
    private readonly program: string,
    private readonly args: readonly string[],
    private readonly folder: string,
    private process: RedisProcess,
  ) {}

  static async start(program: string, options: RedisServerOptions = {}): Promise<RedisServer> {
    const folder = await mkdtemp(join(tmpdir(), 'redis-test-'));
    try {
      return await onFreePort(async (port) => {
        const args = serverArgs(port, await freePort(), folder, options);
        if (options.sentinel !== undefined) {
          await writeFile(
            join(folder, SENTINEL_FILE),
            sentinelConfig(port, folder, options.sentinel),
          );
        }
        const child = await RedisProcess.start(program, args);
        return new RedisServer(port, program, args, folder, child);
      });
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  get host(): string {
    return HOST;
  }

  get url(): string {
    return `redis://${this.host}:${this.port}`;
  }

  get pid(): number {
    return this.process.pid;
  }

  get isRunning(): boolean {
    return this.process.isRunning;
  }

  /** One command on a connection of its own. */
  async command(...args: (string | number)[]): Promise<RespValue> {
    await using connection = await RawRedis.open(this);
    return await connection.send(...args);
  }

  /** What INFO says, by its names. */
  async info(section: string): Promise<ReadonlyMap<string, string>> {
    return parseInfo(String(await this.command('INFO', section)));
  }

  /** Stops the process where it is: connections stay, answers do not come. */
  pause(): Promise<void> {
    return this.process.pause();
  }

  resume(): void {
    this.process.resume();
  }

  /** As if the power went; what is on disk stays for {@link restart}. */
  kill(): Promise<void> {
    return this.process.kill();
  }

  /** On the same port, from what is on disk (the last SAVE, or the append-only file), or from nothing. */
  async restart({ data = 'saved' }: { readonly data?: 'saved' | 'lost' } = {}): Promise<void> {
    await this.kill();
    if (data === 'lost') {
      await this.#forget();
    }
    this.process = await RedisProcess.start(this.program, this.args);
    await eventually('the server has loaded its data', async () => !(await this.#isLoading()));
  }

  /** Kills it, and removes its folder. */
  async stop(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #isLoading(): Promise<boolean> {
    return (await this.info('persistence')).get('loading') === '1';
  }

  // Who is who in a cluster is no data.
  async #forget(): Promise<void> {
    const data = (await readdir(this.folder)).filter((name) => !name.endsWith('.conf'));
    await Promise.all(
      data.map((name) => rm(join(this.folder, name), { recursive: true, force: true })),
    );
  }
}

/** The lines `name:value` of INFO and its like. */
export function parseInfo(text: string): ReadonlyMap<string, string> {
  const lines = text.split('\r\n').filter((line) => line.includes(':'));
  return new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]),
  );
}
