import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** A redis-server of the bench's own, on a free port of this machine. */
export class RedisServer implements AsyncDisposable {
  private constructor(
    readonly port: number,
    private readonly child: ChildProcess,
  ) {
    process.once('exit', () => child.kill('SIGKILL'));
  }

  /** Gives undefined where there is no program of that name. */
  static async start(): Promise<RedisServer | undefined> {
    const port = await freePort();
    const options = { port, bind: '127.0.0.1', save: '', appendonly: 'no' };
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, `${value}`]);
    const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const isReady = await new Promise<boolean>((resolve) => {
      child.once('error', () => resolve(false));
      child.once('exit', () => resolve(false));
      child.stdout.on('data', (chunk: Buffer) => {
        if (chunk.includes('Ready to accept connections')) {
          resolve(true);
        }
      });
    });
    return isReady ? new RedisServer(port, child) : undefined;
  }

  get pid(): number {
    return this.child.pid as number;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill('SIGKILL');
    await once(this.child, 'exit');
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
