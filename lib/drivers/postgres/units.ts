import { LockConfigError } from '../../errors/lock-config.error.js';

/** A span as the table has it; rounded up, for nobody may get less than asked for. */
export function microseconds(ms: number): number {
  const us = Math.ceil(ms * 1000);
  if (!Number.isSafeInteger(us) || us < 0) {
    throw new LockConfigError(`${ms} is no duration in milliseconds`);
  }
  return us;
}

/** The largest number of tokens that the table can tell. */
const MOST_TOKENS = 2 ** 31 - 1;

/** A number of tokens. */
export function checkTokens(tokens: number): void {
  if (!Number.isInteger(tokens) || tokens < 0 || tokens > MOST_TOKENS) {
    throw new LockConfigError(`${tokens} is no number of tokens`);
  }
}

/** Rounded up: who comes back after so long is not too early. A lease that has ended meanwhile has 0 left. */
export function milliseconds(us: string | null | undefined): number {
  return Math.max(0, Math.ceil(Number(us) / 1000));
}
