import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { eventually } from './eventually.js';

const START_TIMEOUT = 10_000;
const READY = /ready to accept connections|sentinel id is/i;

const living = new Set<ChildProcess>();
process.once('exit', () => living.forEach((child) => child.kill('SIGKILL')));

/** A running redis-server program; it does not outlive this process. */
export class RedisProcess {
  private constructor(private readonly child: ChildProcess) {
    child.once('exit', () => living.delete(child));
  }

  /** Resolves when it answers. */
  static async start(program: string, args: readonly string[]): Promise<RedisProcess> {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    living.add(child);
    try {
      await untilReady(child);
    } catch (error) {
      child.kill('SIGKILL');
      living.delete(child);
      throw error;
    }
    return new RedisProcess(child);
  }

  get pid(): number {
    return this.child.pid as number;
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Stops it where it is, between two of its instructions; resolves when it stands still. */
  async pause(): Promise<void> {
    this.child.kill('SIGSTOP');
    const status = `/proc/${this.pid}/stat`;
    if (existsSync(status)) {
      await eventually('the process is stopped', async () =>
        / T /.test(await readFile(status, 'utf8')),
      );
    }
  }

  resume(): void {
    this.child.kill('SIGCONT');
  }

  /** Without a word of warning, also if it is paused: nothing is saved that is not saved yet. */
  async kill(): Promise<void> {
    if (this.isRunning) {
      const exited = once(this.child, 'exit');
      this.child.kill('SIGKILL');
      await exited;
    }
  }
}

function untilReady(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = '';
    const fail = (why: string): void => reject(new Error(`redis-server ${why}: ${output}`));
    const timer = setTimeout(() => fail(`did not start in ${START_TIMEOUT} ms`), START_TIMEOUT);
    const listen = (chunk: Buffer): void => {
      output += chunk.toString();
      if (READY.test(output)) {
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
