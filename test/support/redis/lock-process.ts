import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { AcquireOptions } from '../../../lib/interfaces/lock-options.interface.js';
import {
  type Call,
  type Look,
  type Reply,
  type Turn,
  turnsOf,
} from '../../process/lock-process.calls.js';
import { Deferred } from '../deferred.js';
import { eventually } from './eventually.js';
import type { Program } from './program.js';

type Request<C = Call> = C extends unknown ? Omit<C, 'id'> : never;

/** Another process of the application, which does as it is told; it does not outlive the test. */
export class LockProcess implements AsyncDisposable {
  readonly #calls = new Map<number, Deferred<unknown>>();
  readonly #exited: Promise<unknown>;
  #last = 0;

  private constructor(
    private readonly child: ChildProcess,
    readonly node: string,
  ) {
    child.on('message', (reply: Reply) => this.#take(reply));
    this.#exited = once(child, 'exit');
  }

  /** Resolves when its service has started. */
  static async start(
    program: Program,
    server: { readonly url: string },
    node: string,
  ): Promise<LockProcess> {
    const started = new LockProcess(
      fork(program.path, [server.url, node], { serialization: 'advanced' }),
      node,
    );
    await started.#call({ name: 'boot' });
    return started;
  }

  acquire(key: string, options: AcquireOptions = {}): Promise<Look> {
    return this.#call({ name: 'acquire', key, options });
  }

  look(): Promise<Look> {
    return this.#call({ name: 'look' });
  }

  release(): Promise<boolean> {
    return this.#call({ name: 'release' });
  }

  /** So many callers take the lock again and again, for so many milliseconds. */
  async contend(key: string, waiters: number, ms: number): Promise<readonly Turn[]> {
    return turnsOf(await this.#call({ name: 'contend', key, waiters, ms }));
  }

  /** Stops it where it is; resolves when it stands still. */
  async pause(): Promise<void> {
    this.child.kill('SIGSTOP');
    await eventually('the process is stopped', async () =>
      / T /.test(await readFile(`/proc/${this.child.pid}/stat`, 'utf8')),
    );
  }

  resume(): void {
    this.child.kill('SIGCONT');
  }

  /** Without a word of warning. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.#exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      await this.kill();
    }
  }

  async #call<T>(request: Request): Promise<T> {
    const id = ++this.#last;
    const reply = new Deferred<unknown>();
    this.#calls.set(id, reply);
    this.child.send({ ...request, id });
    return (await reply.promise) as T;
  }

  #take({ id, value, error }: Reply): void {
    const call = this.#calls.get(id);
    this.#calls.delete(id);
    if (error === undefined) {
      call?.resolve(value);
    } else {
      call?.reject(new Error(error));
    }
  }
}
