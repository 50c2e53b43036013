import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Where servers are that are not meant to be started by hand. */
const SYSTEM_FOLDERS = ['/usr/sbin', '/sbin'];

/** A program, or the reason why it is not there. */
export type ProgramSource =
  | { readonly kind: 'program'; readonly path: string }
  | { readonly kind: 'none'; readonly reason: string };

/** A program on the PATH; root on Debian installs the package of its name if it is not there. */
export async function findOrInstall(name: string, hint: string): Promise<ProgramSource> {
  const path = await findProgram(name);
  return path === undefined ? install(name, hint) : { kind: 'program', path };
}

async function install(name: string, hint: string): Promise<ProgramSource> {
  if (process.getuid?.() !== 0 || (await findProgram('apt-get')) === undefined) {
    return {
      kind: 'none',
      reason: `there is no ${name} here, and only root on Debian can install it. ${hint}`,
    };
  }
  console.log(`Installing ${name} ...`);
  try {
    // Fresh machines have no package lists, and old lists name packages that are gone.
    await aptGet('update');
    await aptGet('install', '--yes', '--no-install-recommends', name);
  } catch (error) {
    return { kind: 'none', reason: `apt-get failed: ${String(error)}. ${hint}` };
  }
  const path = await findProgram(name);
  return path === undefined
    ? { kind: 'none', reason: `apt-get installed no ${name}. ${hint}` }
    : { kind: 'program', path };
}

/** Waits for another run that is installing too. */
async function aptGet(...args: string[]): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  await run('apt-get', ['-o', 'DPkg::Lock::Timeout=120', '-qq', ...args], { env });
}

/** The path of a program on the PATH, if it is there. */
export async function findProgram(name: string): Promise<string | undefined> {
  for (const folder of [...(process.env['PATH'] ?? '').split(delimiter), ...SYSTEM_FOLDERS]) {
    const path = join(folder, name);
    if (
      await access(path, constants.X_OK).then(
        () => true,
        () => false,
      )
    ) {
      return path;
    }
  }
  return undefined;
}

/** Tests that need something that is not there are skipped, loudly; in CI they may not be. */
export function refuseOrWarn(what: string, reason: string): void {
  const message = `The tests that need ${what} cannot run: ${reason}`;
  if (process.env['CI'] === 'true') {
    throw new Error(message);
  }
  console.warn(`\n${'!'.repeat(100)}\n${message}\nThey are SKIPPED.\n${'!'.repeat(100)}\n`);
}
