import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A TypeScript file of the tests, made into one that Node runs: other processes know nothing of vitest. */
export class Program implements AsyncDisposable {
  private constructor(private readonly folder: string) {}

  static async build(file: URL): Promise<Program> {
    // Inside the repository, or its packages would not be found.
    const folder = join(root, 'build', `test-${randomUUID()}`);
    await build({
      root,
      configFile: false,
      logLevel: 'error',
      build: {
        ssr: fileURLToPath(file),
        outDir: folder,
        rolldownOptions: { output: { entryFileNames: 'program.js' } },
      },
    });
    return new Program(folder);
  }

  /** Starts a process that tells what it found by one message, and gives that. */
  async run<T>(args: readonly (string | number)[]): Promise<T> {
    const child = this.start(args);
    const [message] = (await Promise.race([once(child, 'message'), failure(child)])) as [T];
    await ended(child);
    return message;
  }

  start(args: readonly (string | number)[]): ChildProcess {
    const child = fork(
      join(this.folder, 'program.js'),
      args.map((arg) => String(arg)),
      { execArgv: [] },
    );
    const kill = (): void => void child.kill('SIGKILL');
    process.once('exit', kill);
    child.once('exit', () => process.off('exit', kill));
    return child;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}

async function failure(child: ChildProcess): Promise<never> {
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  throw new Error(`A process ended with ${code ?? signal} before it told anything`);
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    await once(child, 'exit');
  }
}
