import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';

/** A `redis-server` from the PATH that writes no files. */
export class RedisServer {
  private constructor(
    private readonly child: ChildProcess,
    private readonly port: number,
  ) {
    process.once('exit', this.killNow);
  }

  static async start(port: number): Promise<RedisServer> {
    const args = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--dir', tmpdir()];
    const child = spawn('redis-server', args, { detached: true, stdio: 'ignore' });
    await once(child, 'spawn').catch((cause: unknown) => {
      throw new Error('There is no redis-server on the PATH: install one, or give `--url`', {
        cause,
      });
    });
    return new RedisServer(child, port);
  }

  url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  async stop(): Promise<void> {
    process.off('exit', this.killNow);
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const exited = once(this.child, 'exit');
      this.child.kill('SIGKILL');
      await exited;
    }
  }

  private readonly killNow = (): void => {
    this.child.kill('SIGKILL');
  };
}
