import { Inject } from '@nestjs/common';
import { LockConfigError } from '../errors/lock-config.error.js';
import { LockService } from '../lock.service.js';
import { lockServiceName } from '../lock-service.name.js';
import { getLockServiceToken } from '../lock-service.token.js';

type Services = Map<string, LockService>;

/** On an object: the services that its locked methods use, by name. A property, so that a proxy of the object has it too. */
const SERVICES = Symbol('nestjs-distributed-lock:services');

/** The same beside an object that is frozen. */
const slots = new WeakMap<object, Services>();

/** The names of the services that the locked methods of a class use, by prototype. */
const declared = new WeakMap<object, Set<string>>();

/** Gives the object its service of this name. */
export function attachLockService(instance: object, name: string, service: LockService): void {
  const services: Services = ownServicesOf(instance) ?? new Map();
  services.set(name, service);
  if (!Reflect.defineProperty(instance, SERVICES, { value: services })) {
    slots.set(instance, services);
  }
}

/** The object's service of this name, if it was given one, or an object that it was made from. */
export function lockServiceOf(instance: object, name: string): LockService | undefined {
  for (
    let at: object | null = instance;
    at !== null;
    at = Object.getPrototypeOf(at) as object | null
  ) {
    const service = servicesOf(at)?.get(name);
    if (service !== undefined) {
      return service;
    }
  }
  return undefined;
}

/** The same, for a method that cannot do without it. */
export function requireLockService(instance: unknown, name: string, where: string): LockService {
  const service =
    typeof instance === 'object' && instance !== null ? lockServiceOf(instance, name) : undefined;
  if (!(service instanceof LockService)) {
    throw new LockConfigError(
      `${where} needs a LockService, but its object has none: let Nest make it (it is not there in the ` +
        `constructor yet), or in a test use attachLocks(instance)`,
    );
  }
  return service;
}

function servicesOf(object: object): Services | undefined {
  const services: unknown = Reflect.get(object, SERVICES);
  // A mock may have an answer to everything.
  return services instanceof Map ? (services as Services) : slots.get(object);
}

function ownServicesOf(object: object): Services | undefined {
  return Object.hasOwn(object, SERVICES) ? servicesOf(object) : slots.get(object);
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
