import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import {
  type PostgresPrograms,
  postgresPrograms,
  type ProcessUser,
  serverUser,
} from './postgres-programs.js';

const run = promisify(execFile);
const START_TIMEOUT = 30_000;
const PORT_TRIES = 5;

/** How to start a server. */
export interface PostgresServerOptions {
  /**
   * Settings as `postgres -c` takes them.
   * @default none
   */
  readonly settings?: Readonly<Record<string, string | number>>;
  /**
   * Whether commits wait for the disk, as they do where data counts.
   * @default false
   */
  readonly durable?: boolean;
  /**
   * Whether what is pressed in the terminal is not for the server, so that it ends after those who use it.
   * @default false
   */
  readonly detached?: boolean;
}

/** A PostgreSQL server of our own, on a free port of this machine and in a folder that goes with it. */
export class PostgresServer implements AsyncDisposable {
  private child: ChildProcess | undefined;
  private listensOn = 0;

  private constructor(
    private readonly folder: string,
    private readonly programs: PostgresPrograms,
    private readonly user: ProcessUser,
    private readonly settings: readonly string[],
    private readonly detached: boolean,
  ) {
    process.once('exit', this.killNow);
  }

  static async start(options: PostgresServerOptions = {}): Promise<PostgresServer> {
    const [programs, user] = await Promise.all([postgresPrograms(), serverUser()]);
    const folder = await makeFolder(user);
    const server = new PostgresServer(
      folder,
      programs,
      user,
      settingsOf(options),
      options.detached ?? false,
    );
    try {
      await server.initialise();
      await server.startSomewhere();
      return server;
    } catch (error) {
      await server.stop();
      throw error;
    }
  }

  get host(): string {
    return '127.0.0.1';
  }

  get port(): number {
    return this.listensOn;
  }

  /** Where to connect to; the role may do everything. */
  url(database = 'postgres'): string {
    return `postgres://postgres@${this.host}:${this.port}/${database}`;
  }

  /** Starts the server that was killed or shut down, with the data that it had. */
  async startAgain(): Promise<void> {
    const { postgres } = this.programs;
    const args = ['-D', this.data, '-p', `${this.port}`, ...this.settings];
    this.child = spawn(postgres, args, {
      ...this.user,
      detached: this.detached,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    await untilReady(this.child);
  }

  /** Ends the server as a crash does, or with `SIGINT` as an administrator. */
  async kill(signal: 'SIGKILL' | 'SIGQUIT' | 'SIGINT' = 'SIGQUIT'): Promise<void> {
    const { child } = this;
    this.child = undefined;
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit');
      child.kill(signal);
      // One that is paused hears nothing else.
      child.kill('SIGCONT');
      await exited;
    }
  }

  /** Stops the server and all of its sessions in the middle of whatever they do; gives what lets them go on. */
  async pause(): Promise<() => void> {
    const pids = [this.child?.pid as number, ...(await this.sessions())];
    const signal = (name: NodeJS.Signals): void => pids.forEach((pid) => signalIfThere(pid, name));
    signal('SIGSTOP');
    return () => signal('SIGCONT');
  }

  /** Starts the server as a standby, which only reads. */
  async becomeStandby(): Promise<void> {
    await this.kill('SIGINT');
    await writeFile(join(this.data, 'standby.signal'), '');
    await this.startAgain();
  }

  async stop(): Promise<void> {
    process.off('exit', this.killNow);
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** A port that was free may be taken meanwhile. */
  private async startSomewhere(): Promise<void> {
    for (let tries = 1; ; tries++) {
      this.listensOn = await freePort();
      try {
        return await this.startAgain();
      } catch (error) {
        if (tries === PORT_TRIES || !String(error).includes('Address already in use')) {
          throw error;
        }
      }
    }
  }

  private async sessions(): Promise<readonly number[]> {
    const client = new Client({ connectionString: this.url() });
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('SELECT pid FROM pg_stat_activity');
    await client.end();
    return rows.map(({ pid }) => pid);
  }

  private get data(): string {
    return join(this.folder, 'data');
  }

  private async initialise(): Promise<void> {
    const args = ['-D', this.data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C'];
    await run(this.programs.initdb, [...args, '--no-sync'], this.user);
  }

  private readonly killNow = (): void => {
    this.child?.kill('SIGQUIT');
  };
}

function signalIfThere(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // The session has ended meanwhile.
  }
}

/** The server's user must get through to its data, and `mkdtemp` lets nobody through. */
async function makeFolder({ uid, gid }: ProcessUser): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'postgres-test-'));
  await chmod(folder, 0o755);
  const data = join(folder, 'data');
  await mkdir(data, { mode: 0o700 });
  if (uid !== undefined && gid !== undefined) {
    await chown(data, uid, gid);
  }
  return folder;
}

function settingsOf({ settings = {}, durable = false }: PostgresServerOptions): string[] {
  const all = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    shared_buffers: '16MB',
    max_connections: 200,
    ...(durable ? {} : { fsync: 'off' }),
    ...settings,
  };
  return Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** A port that nobody listens on. */
export async function freePort(): Promise<number> {
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
    const fail = (why: string): void => reject(new Error(`postgres ${why}: ${output}`));
    const timer = setTimeout(() => fail(`did not start in ${START_TIMEOUT} ms`), START_TIMEOUT);
    child.once('error', (error) => fail(`cannot be run (${error.message})`));
    child.once('exit', (code) => fail(`ended with ${code}`));
    child.once('exit', () => clearTimeout(timer));
    // Read on for as long as it runs, or its pipe runs full.
    child.stderr?.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-10_000);
      if (/ready to accept (read-only )?connections/.test(output)) {
        clearTimeout(timer);
        resolve();
      }
    });
  });
}
