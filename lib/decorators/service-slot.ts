import type { LockService } from '../lock.service.js';

/** Which services an object's locked methods use, by name. Beside the object, so that it may be frozen. */
const slots = new WeakMap<object, Map<string, LockService>>();

/** Gives the object its service of this name. */
export function attachLockService(instance: object, name: string, service: LockService): void {
  const services = slots.get(instance);
  if (services === undefined) {
    slots.set(instance, new Map([[name, service]]));
  } else {
    services.set(name, service);
  }
}

/** The object's service of this name, if it was given one. */
export function lockServiceOf(instance: object, name: string): LockService | undefined {
  return slots.get(instance)?.get(name);
}
