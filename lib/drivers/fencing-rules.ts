import { LockConfigError } from '../errors/lock-config.error.js';

/** How far a fencing token may be ahead of the backend's clock, in milliseconds: further ahead than clocks differ it is forged. */
export const MAY_BE_AHEAD = 60_000;

/** A store that has no transactions cannot take part in one, and must not seem to. */
export function refuseTransaction(driver: string, transaction: unknown): void {
  if (transaction !== undefined) {
    throw new LockConfigError(
      `The driver \`${driver}\` knows no transactions: an admission by it stands alone, and is not undone by a rollback. ` +
        'Call `admit(resource, token)` without a transaction, or keep the gate in the database that is written to',
    );
  }
}
