import { attachLockService } from '../decorators/service-slot.js';
import { DEFAULT_LOCK_NAME } from '../distributed-lock.constants.js';
import { LockService } from '../lock.service.js';
import { TestLockDriver } from './test-lock.driver.js';

/**
 * Gives an object that was made with `new` the service that its locked methods use, as Nest would have done, and
 * returns it. Without one it gets a new service on a new {@link TestLockDriver}.
 */
export function attachLocks(
  instance: object,
  service: LockService = new LockService(new TestLockDriver()),
  name: string = DEFAULT_LOCK_NAME,
): LockService {
  attachLockService(instance, name, service);
  return service;
}
