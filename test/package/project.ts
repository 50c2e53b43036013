import { execFile } from 'node:child_process';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const consumers = fileURLToPath(new URL('consumers', import.meta.url));

/** The compiler of this repository: a consumer's project needs none of its own. */
export const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');

/** Runs a program to its end and gives its output; a program that does not end by itself is a failure. */
export function run(
  cwd: string,
  file: string,
  args: readonly string[],
  timeout = 60_000,
): Promise<string> {
  const onWindows = process.platform === 'win32';
  return new Promise((resolve, reject) => {
    execFile(
      file,
      args,
      { cwd, timeout, env: outerEnvironment(), shell: onWindows && file === 'npm' },
      (error, stdout, stderr) => {
        if (!error) return resolve(stdout);
        const why = error.killed ? `did not end within ${timeout} ms` : error.message;
        reject(new Error(`${file} ${args.join(' ')}: ${why}\n${stdout}\n${stderr}`));
      },
    );
  });
}

/** A new project with the consumers' files, the tarball and the given packages installed. */
export async function createProject(
  folder: string,
  tarball: string,
  packages: Readonly<Record<string, string>>,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  await cp(consumers, folder, { recursive: true });
  const dependencies = { ...packages, 'nestjs-distributed-lock': `file:${tarball}` };
  const manifest = { name: 'consumer', private: true, type: 'module', dependencies };
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest, null, 2));
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'];
  await run(folder, 'npm', ['install', ...flags], 600_000);
}

/** Packages that do nothing but tell that they were loaded. */
export async function plantDecoys(folder: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const decoy = join(folder, 'node_modules', name);
    await mkdir(decoy, { recursive: true });
    await writeFile(join(decoy, 'package.json'), JSON.stringify({ name, main: 'index.cjs' }));
    await writeFile(
      join(decoy, 'index.cjs'),
      `(globalThis.loadedPeers ??= []).push(${JSON.stringify(name)});`,
    );
  }
}

/** The environment without what `npm test` and vitest added: a nested npm would take it for its own. */
function outerEnvironment(): NodeJS.ProcessEnv {
  const added = /^(npm_(package|lifecycle|config_local_prefix)|INIT_CWD$|NODE_ENV$|VITEST)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !added.test(name)));
}
