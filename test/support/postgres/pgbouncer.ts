import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serverUser } from './postgres-programs.js';
import { freePort } from './postgres-server.js';

const START_TIMEOUT = 10_000;
const PORT_TRIES = 5;

/** A PgBouncer of our own in front of one database, on a free port of this machine. */
export class PgBouncer implements AsyncDisposable {
  private constructor(
    readonly url: string,
    private readonly folder: string,
    private readonly child: ChildProcess,
  ) {
    process.once('exit', this.kill);
  }

  /** Sessions of the server are shared between transactions. */
  static async start(
    program: string,
    database: string,
    settings: Readonly<Record<string, string>> = {},
  ): Promise<PgBouncer> {
    const folder = await mkdtemp(join(tmpdir(), 'pgbouncer-test-'));
    await chmod(folder, 0o755);
    for (let tries = 1; ; tries++) {
      const port = await freePort();
      try {
        const child = await run(program, folder, configuration(new URL(database), port, settings));
        const url = new URL(database);
        url.host = `127.0.0.1:${port}`;
        return new PgBouncer(url.href, folder, child);
      } catch (error) {
        if (tries === PORT_TRIES) {
          await rm(folder, { recursive: true, force: true });
          throw error;
        }
      }
    }
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

  private readonly kill = (): void => {
    this.child.kill('SIGKILL');
  };
}

async function run(program: string, folder: string, config: string): Promise<ChildProcess> {
  const file = join(folder, 'pgbouncer.ini');
  await writeFile(file, config);
  // It refuses to run as root.
  const user = await serverUser();
  const child = spawn(program, [file], { ...user, stdio: ['ignore', 'ignore', 'pipe'] });
  await untilReady(child);
  return child;
}

function configuration(
  { hostname, port, pathname, username, password }: URL,
  listenPort: number,
  settings: Readonly<Record<string, string>>,
): string {
  const server = { host: hostname, port: port || '5432', user: username, password };
  const target = Object.entries(server).filter(([, value]) => value !== '');
  const options = {
    listen_addr: '127.0.0.1',
    listen_port: `${listenPort}`,
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: 'transaction',
    default_pool_size: '4',
    ...settings,
  };
  const lines = Object.entries(options).map(([name, value]) => `${name} = ${value}`);
  const databases = `${pathname.slice(1)} = ${target.map(([name, value]) => `${name}=${value}`).join(' ')}`;
  return `[databases]\n${databases}\n\n[pgbouncer]\n${lines.join('\n')}\n`;
}

function untilReady(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = '';
    const fail = (why: string): void => reject(new Error(`pgbouncer ${why}: ${output}`));
    const timer = setTimeout(() => fail('did not start'), START_TIMEOUT);
    child.once('error', (error) => fail(`cannot be run (${error.message})`));
    child.once('exit', (code) => fail(`ended with ${code}`));
    child.once('exit', () => clearTimeout(timer));
    child.stderr?.on('data', (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-10_000);
      if (output.includes('process up')) {
        clearTimeout(timer);
        resolve();
      }
    });
  });
}
