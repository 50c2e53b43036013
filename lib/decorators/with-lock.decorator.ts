import { LockConfigError } from '../errors/lock-config.error.js';
import type {
  WithLockDecorator,
  WithLockKeys,
  WithLockOptions,
} from '../interfaces/with-lock-options.interface.js';
import { LockInterceptor } from '../interceptors/lock.interceptor.js';
import { checkWithLockOptions } from '../options/check-with-lock-options.js';
import { type AnyMethod, lockedMethod } from './locked-method.js';
import {
  addLockId,
  bindOutermost,
  copyAppearance,
  returnTypeOf,
} from './locked-method.accessor.js';
import { MethodLock } from './method-lock.js';
import { returnKindOf } from './return-kind.js';
import { declareServiceSlot } from './service-slot.js';

/**
 * Runs a method under a lock: `@WithLock('order:<0>')`, where `<0>` is the first argument that the method is called
 * with. The lock is held until the promise has settled or the observable has ended, and in a handler until the
 * interceptors around it are done too.
 */
export function WithLock<
  const Keys extends WithLockKeys,
  const Options extends WithLockOptions = WithLockOptions,
>(keys: Keys, options?: Options): WithLockDecorator<Keys, Options> {
  return (target: object, name?: string | symbol, descriptor?: PropertyDescriptor): void => {
    const original: unknown = descriptor?.value;
    if (name === undefined || typeof original !== 'function' || typeof target === 'function') {
      throw new LockConfigError(
        '@WithLock stands on methods of objects, not on classes or accessors',
      );
    }
    const where = `${target.constructor.name}.${String(name)}`;
    const checked = checkWithLockOptions(options, where);
    const lock = new MethodLock(where, keys, checked);
    const kind = returnKindOf(original, returnTypeOf(target, name), checked.returns, where);
    const wrapper = lockedMethod(original as AnyMethod, lock, kind);
    copyAppearance(original, wrapper, name);
    addLockId(wrapper, lock.id);
    bindOutermost(LockInterceptor, wrapper, target.constructor);
    declareServiceSlot(target, lock.serviceName);
    descriptor!.value = wrapper;
  };
}
