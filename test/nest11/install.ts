import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const folder = fileURLToPath(new URL('.', import.meta.url));
const modules = join(folder, 'node_modules');
const scratch = fileURLToPath(new URL('../../node_modules', import.meta.url));
const stamp = '.installed-from';

/** Installs the packages of this folder if that has not been done, or if their list has changed since. */
export default async function install(): Promise<void> {
  const wanted = createHash('sha256')
    .update(await readFile(join(folder, 'package-lock.json')))
    .digest('hex');
  const found = await readFile(join(modules, stamp), 'utf8').catch(() => undefined);
  if (found === wanted) {
    return;
  }
  console.log('Installing Nest 11 into test/nest11 ...');
  // Elsewhere, then moved into its place at one stroke: another run may be installing too.
  const aside = await mkdtemp(join(scratch, '.nest11-'));
  try {
    for (const file of ['package.json', 'package-lock.json', '.npmrc']) {
      await cp(join(folder, file), join(aside, file));
    }
    await npm(aside, ['ci', '--ignore-scripts', '--prefer-offline']);
    await writeFile(join(aside, 'node_modules', stamp), wanted);
    await moveInto(modules, join(aside, 'node_modules'), join(aside, 'outdated'));
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

async function moveInto(place: string, fresh: string, outdated: string): Promise<void> {
  await rename(place, outdated).catch(ignore('ENOENT'));
  await rename(fresh, place).catch(ignore('ENOTEMPTY', 'EEXIST'));
}

function ignore(...codes: string[]): (error: NodeJS.ErrnoException) => void {
  return (error) => {
    if (!codes.includes(error.code ?? '')) {
      throw error;
    }
  };
}

/** npm as if it was called from a shell: what `npm test` put into the environment would mislead it. */
async function npm(cwd: string, args: readonly string[]): Promise<void> {
  const added = /^(npm_(package|lifecycle|config_local_prefix)|INIT_CWD$|NODE_ENV$|VITEST)/;
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !added.test(name)));
  await promisify(execFile)('npm', args, { cwd, env, shell: process.platform === 'win32' });
}
