import { LockConfigError } from '../errors/lock-config.error.js';
import type { LeaderOptions } from '../interfaces/leader-election.interface.js';
import { addLeaderRole, type LeaderRole } from '../leader/leader-role.accessor.js';
import { checkLeaderOptions } from '../options/check-leader-options.js';
import { declareServiceSlot } from './service-slot.js';

/** Writes down that a method is to be called when an election is decided. */
export function declareLeaderRole(
  kind: LeaderRole['kind'],
  decorator: string,
  name: string,
  options: LeaderOptions,
) {
  return (target: object, property: string | symbol, descriptor: PropertyDescriptor): void => {
    const method: unknown = descriptor?.value;
    if (typeof method !== 'function' || typeof target === 'function') {
      throw new LockConfigError(
        `${decorator} stands on methods of objects, not on classes or accessors`,
      );
    }
    const where = `${target.constructor.name}.${String(property)}`;
    const { service, campaign } = checkLeaderOptions(decorator, where, name, options);
    addLeaderRole(method, {
      kind,
      name,
      service,
      options: campaign,
      where: `${decorator} of ${where}`,
    });
    // If the module is missing nobody would ever be elected: so the application does not start.
    declareServiceSlot(target, service);
  };
}
