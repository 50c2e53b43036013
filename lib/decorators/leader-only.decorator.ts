import type {
  LeaderOnlyDecorator,
  LeaderOnlyOptions,
} from '../interfaces/leader-election.interface.js';
import { LockConfigError } from '../errors/lock-config.error.js';
import { addLeaderRole } from '../leader/leader-role.accessor.js';
import { checkLeaderOptions } from '../options/check-leader-options.js';
import { leaderOnlyMethod } from './leader-only-method.js';
import type { AnyMethod } from './locked-method.js';
import { copyAppearance, returnTypeOf } from './locked-method.accessor.js';
import { returnKindOf } from './return-kind.js';
import { declareServiceSlot } from './service-slot.js';

/**
 * Runs a method on the leader only: `@LeaderOnly('scheduler')`. Elsewhere it gives undefined, or an empty observable.
 * The process stands for election from when the application has started until it shuts down.
 */
export function LeaderOnly(name: string, options: LeaderOnlyOptions = {}): LeaderOnlyDecorator {
  return (target: object, property?: string | symbol, descriptor?: PropertyDescriptor): void => {
    const original: unknown = descriptor?.value;
    if (property === undefined || typeof original !== 'function' || typeof target === 'function') {
      throw new LockConfigError(
        '@LeaderOnly stands on methods of objects, not on classes or accessors',
      );
    }
    const where = `${target.constructor.name}.${String(property)}`;
    const { service, returns, campaign } = checkLeaderOptions('@LeaderOnly', where, name, options);
    const kind = returnKindOf(original, returnTypeOf(target, property), returns, where);
    const role = {
      kind: 'only',
      name,
      service,
      options: campaign,
      where: `@LeaderOnly of ${where}`,
    } as const;
    const wrapper = leaderOnlyMethod(original as AnyMethod, role, kind);
    copyAppearance(original, wrapper, property);
    addLeaderRole(wrapper, role);
    declareServiceSlot(target, service);
    descriptor!.value = wrapper;
  };
}
