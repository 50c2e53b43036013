import { execFileSync } from 'node:child_process';

/** Binds a process to one core; false where the system cannot. */
export function bindToCore(pid: number, core: number): boolean {
  try {
    execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', `${core}`, `${pid}`], {
      stdio: 'ignore',
    });
    return true;
  } catch {
    return false;
  }
}
