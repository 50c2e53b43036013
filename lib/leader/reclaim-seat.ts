import type { Owners } from '../core/owners.js';
import { nodeOf } from '../errors/format.js';
import type { LockDriver } from '../interfaces/lock-driver.interface.js';

/** The seat that is to be taken back. */
export interface Seat {
  readonly key: string;
  readonly nodeId: string;
  /** Names the present candidate, which is not its own former self. */
  readonly owners: Owners;
}

/** Frees the leader's lock if a former process of this `nodeId` holds it, and nobody else's. */
export async function reclaimSeat(
  driver: LockDriver,
  { key, nodeId, owners }: Seat,
): Promise<void> {
  const owner = (await driver.inspect(key))?.owner ?? '';
  if (owner !== '' && nodeOf(owner) === nodeId && !owners.named(owner)) {
    await driver.release({ key, owner });
  }
}
