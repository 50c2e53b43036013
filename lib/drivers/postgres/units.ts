import { LockConfigError } from '../../errors/lock-config.error.js';

/** A span as the table has it; rounded up, for nobody may get less than asked for. */
export function microseconds(ms: number): number {
  const us = Math.ceil(ms * 1000);
  if (!Number.isSafeInteger(us) || us < 0) {
    throw new LockConfigError(`${ms} is no duration in milliseconds`);
  }
  return us;
}

/** Rounded up: who comes back after so long is not too early. A lease that has ended meanwhile has 0 left. */
export function milliseconds(us: string | null | undefined): number {
  return Math.max(0, Math.ceil(Number(us) / 1000));
}
