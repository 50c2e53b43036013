import { Inject } from '@nestjs/common';
import type { LockService } from '../lock.service.js';
import { lockServiceName } from '../lock-service.name.js';
import { getLockServiceToken } from '../lock-service.token.js';

/** Which services an object's locked methods use, by name. Beside the object, so that it may be frozen. */
const slots = new WeakMap<object, Map<string, LockService>>();

/** The names of the services that the locked methods of a class use, by prototype. */
const declared = new WeakMap<object, Set<string>>();

/** Gives the object its service of this name. */
export function attachLockService(instance: object, name: string, service: LockService): void {
  const services = slots.get(instance);
  if (services === undefined) {
    slots.set(instance, new Map([[name, service]]));
  } else {
    services.set(name, service);
  }
}

/** The object's service of this name, if it was given one, or an object that it was made from. */
export function lockServiceOf(instance: object, name: string): LockService | undefined {
  for (
    let at: object | null = instance;
    at !== null;
    at = Object.getPrototypeOf(at) as object | null
  ) {
    const service = slots.get(at)?.get(name);
    if (service !== undefined) {
      return service;
    }
  }
  return undefined;
}

/**
 * Makes Nest inject the service of this name into objects of a class, as into a property. The property's name shows in
 * Nest's error if the module is missing; what is set goes beside the object.
 */
export function declareServiceSlot(prototype: object, name: string): void {
  if (usesLockService(prototype, name)) {
    return;
  }
  const names = declared.get(prototype) ?? new Set();
  declared.set(prototype, names.add(name));
  const property = `@WithLock ${lockServiceName(name)}`;
  Object.defineProperty(prototype, property, {
    configurable: true,
    set(this: object, service: LockService) {
      attachLockService(this, name, service);
    },
  });
  Inject(getLockServiceToken(name))(prototype, property);
}

/** Whether a locked method of the object, or of a class it inherits from, uses the service of this name. */
export function usesLockService(object: object, name: string): boolean {
  for (
    let at: object | null = object;
    at !== null;
    at = Object.getPrototypeOf(at) as object | null
  ) {
    if (declared.get(at)?.has(name)) {
      return true;
    }
  }
  return false;
}
