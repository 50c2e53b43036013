import type { AcquireSettings } from '../core/acquire-settings.js';
import { isPending } from '../core/maybe-promise.js';
import { LockConfigError } from '../errors/lock-config.error.js';
import { LockDriverError } from '../errors/lock-driver.error.js';
import { LockKeyError } from '../errors/lock-key.error.js';
import { LockTimeoutError } from '../errors/lock-timeout.error.js';
import type { LockError } from '../errors/lock.error.js';
import type {
  RefusalHandler,
  RefusedCall,
} from '../interfaces/distributed-lock-module-options.interface.js';
import type { LockOptions } from '../interfaces/lock-options.interface.js';
import type { WithLockKeys, WithLockOptions } from '../interfaces/with-lock-options.interface.js';
import { DEFAULT_LOCK_NAME } from '../distributed-lock.constants.js';
import { KeyTemplate } from '../key/key-template.js';
import type { LockKeys, LockService } from '../lock.service.js';
import { requireLockService } from './service-slot.js';

/** What one `@WithLock` says of one method: which keys, with which settings, of which service, and what if not. */
export class MethodLock {
  /** Tells it from all others, through whatever wraps the method. */
  readonly id: symbol;
  readonly serviceName: string;
  readonly #where: string;
  readonly #keys: (args: readonly unknown[]) => LockKeys;
  readonly #options: LockOptions;
  readonly #instead: Pick<WithLockOptions, 'onBusy' | 'onUnavailable'>;
  /** Worked out once for each service. */
  readonly #settings = new WeakMap<LockService, AcquireSettings>();

  /** @param where names class and method in messages */
  constructor(where: string, keys: WithLockKeys, options: WithLockOptions) {
    const {
      onBusy,
      onUnavailable,
      returns: _returns,
      service = DEFAULT_LOCK_NAME,
      ...rest
    } = options;
    const waits = onBusy === undefined || onBusy === 'throw' || rest.wait !== undefined;
    this.id = Symbol(where);
    this.serviceName = service;
    this.#where = where;
    this.#keys = compileKeys(keys, where);
    this.#options = waits ? rest : { ...rest, wait: 0 };
    this.#instead = { onBusy, onUnavailable };
  }

  keysOf(args: readonly unknown[]): LockKeys {
    return this.#keys(args);
  }

  serviceOf(instance: unknown): LockService {
    return requireLockService(instance, this.serviceName, this.#where);
  }

  settingsFor(service: LockService): AcquireSettings {
    let settings = this.#settings.get(service);
    if (settings === undefined) {
      settings = service.settingsOf(this.#options);
      this.#settings.set(service, settings);
    }
    return settings;
  }

  /** What to answer when the lock was not got; throws, or rejects, if that is an error for the caller. */
  insteadOf(error: unknown, instance: object, args: readonly unknown[]): unknown {
    const option = refusalOf(error);
    if (option === undefined) {
      throw error;
    }
    const own = this.#instead[option];
    if (own === 'skip') {
      return undefined;
    }
    if (typeof own === 'function') {
      return Reflect.apply(own, instance, args);
    }
    const handler = own ?? this.serviceOf(instance).options[option] ?? 'throw';
    if (handler === 'throw') {
      throw error;
    }
    return tellOf({ method: this.#where, args, error: error as LockError }, handler);
  }

  /** The method returned an observable, and nobody here can tell when it ends. */
  unexpectedObservable(): LockConfigError {
    return new LockConfigError(
      `${this.#where} returned an Observable, which nobody expected: its lock was released and it is not subscribed to. ` +
        `Declare the return type as Observable, or say @WithLock(..., { returns: 'observable' })`,
    );
  }
}

/** The option that says what to do about an error of the lock; none if it is always an error. */
function refusalOf(error: unknown): 'onBusy' | 'onUnavailable' | undefined {
  if (error instanceof LockTimeoutError) {
    return 'onBusy';
  }
  return error instanceof LockDriverError ? 'onUnavailable' : undefined;
}

/** The caller gets what the handler throws, and else the error: there is no way to be answered by it. */
function tellOf(refused: RefusedCall, handler: RefusalHandler): PromiseLike<never> {
  const told = handler(refused);
  const fail = (): never => {
    throw refused.error;
  };
  return isPending(told) ? told.then(fail) : fail();
}

function compileKeys(keys: WithLockKeys, where: string): (args: readonly unknown[]) => LockKeys {
  if (typeof keys === 'function') {
    return (args) => checkKeys(Reflect.apply(keys, undefined, args), where);
  }
  if (typeof keys === 'string') {
    const template = new KeyTemplate(keys, where);
    return (args) => template.resolve(args);
  }
  if (!Array.isArray(keys) || keys.length === 0 || keys.some((key) => typeof key !== 'string')) {
    throw new LockConfigError(`${where}: @WithLock needs a key, an array of keys, or a function`);
  }
  const templates = (keys as readonly string[]).map((key) => new KeyTemplate(key, where));
  return (args) => templates.map((template) => template.resolve(args));
}

function checkKeys(keys: unknown, where: string): LockKeys {
  const all: unknown[] = Array.isArray(keys) ? keys : [keys];
  if (all.length === 0 || all.some((key) => typeof key !== 'string' || key === '')) {
    throw new LockKeyError(
      `${where}: its key function must give a string that is not empty, or an array of such strings`,
    );
  }
  return keys as LockKeys;
}
