import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ReplicaMessage } from './replica.reporter.js';
import type { StoreAddress } from './store.js';

const PROGRAM = fileURLToPath(new URL('replica.js', import.meta.url));

/** How long a replica may take to shut down, in milliseconds. */
const PATIENCE = 5_000;

/** What is told of replicas. */
export interface ReplicasListener {
  told(message: ReplicaMessage): void;
  /** One has been ended by a signal, and another one takes its place. */
  replaced(node: string, signal: NodeJS.Signals, successor: string): void;
  /** One has ended by itself, which none should. */
  failed(node: string): void;
}

/** Processes of one application. Where one is ended, another is started in its place. */
export class Replicas implements AsyncDisposable {
  private readonly running = new Map<string, ChildProcess>();
  private started = 0;
  private isStopping = false;

  constructor(
    private readonly address: StoreAddress,
    private readonly listener: ReplicasListener,
  ) {
    process.once('exit', this.killAll);
  }

  start(): string {
    const node = `replica-${++this.started}`;
    const { driver, url } = this.address;
    // `detached`: what is pressed in the terminal is for this process, which ends them in order. `advanced` sends bigints.
    const child = fork(PROGRAM, [node, driver, url], {
      detached: true,
      serialization: 'advanced',
    });
    this.running.set(node, child);
    child.on('message', (message) => this.listener.told(message as ReplicaMessage));
    child.once('exit', (_code, signal) => this.ended(node, signal));
    return node;
  }

  end(node: string, signal: NodeJS.Signals): void {
    this.running.get(node)?.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isStopping = true;
    const impatience = setTimeout(this.killAll, PATIENCE);
    await Promise.all(
      [...this.running.values()].map(async (child) => {
        const exited = once(child, 'exit');
        child.kill('SIGTERM');
        await exited;
      }),
    );
    clearTimeout(impatience);
    process.off('exit', this.killAll);
  }

  private ended(node: string, signal: NodeJS.Signals | null): void {
    this.running.delete(node);
    if (this.isStopping) {
      return;
    }
    if (signal === null) {
      this.listener.failed(node);
    } else {
      this.listener.replaced(node, signal, this.start());
    }
  }

  private readonly killAll = (): void => {
    this.running.forEach((child) => child.kill('SIGKILL'));
  };
}
