import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** A program of test/process, made ready for node to run it in a process of its own. */
export class Program implements AsyncDisposable {
  private constructor(
    readonly path: string,
    private readonly folder: string,
  ) {}

  static async build(name: string): Promise<Program> {
    // Inside of the project, where its packages are found.
    const folder = await mkdtemp(join(ROOT, 'node_modules', '.test-program-'));
    await build({
      root: ROOT,
      configFile: false,
      logLevel: 'error',
      build: {
        ssr: join(ROOT, 'test', 'process', `${name}.ts`),
        outDir: folder,
        target: 'node20',
        minify: false,
      },
    });
    return new Program(join(folder, `${name}.js`), folder);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}
