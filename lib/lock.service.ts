import { Injectable } from '@nestjs/common';
import type {
  BeforeApplicationShutdown,
  OnApplicationShutdown,
  OnModuleInit,
} from '@nestjs/common';
import { Observable, takeUntil } from 'rxjs';
import type { AcquireSettings } from './core/acquire-settings.js';
import { LockEngine } from './core/lock-engine.js';
import { LockEvents } from './core/lock-events.js';
import type { EngineHandle } from './core/lock-handle.js';
import { LockConfigError } from './errors/lock-config.error.js';
import { LockDriverError } from './errors/lock-driver.error.js';
import { LockTimeoutError } from './errors/lock-timeout.error.js';
import { LockError } from './errors/lock.error.js';
import type { LockServiceOptions } from './interfaces/distributed-lock-module-options.interface.js';
import type {
  ListRequest,
  LockDriver,
  LockRecord,
  MaybePromise,
} from './interfaces/lock-driver.interface.js';
import type { LockEvent } from './interfaces/lock-event.interface.js';
import type { LockHandle } from './interfaces/lock-handle.interface.js';
import type { AcquireOptions } from './interfaces/lock-options.interface.js';
import { KeySpace } from './key/key-space.js';
import { LockLogger } from './lock.logger.js';
import { LockServiceLifecycle } from './lock-service.lifecycle.js';
import { lockServiceName } from './lock-service.name.js';
import { resolveListRequest } from './options/resolve-list-request.js';
import {
  resolveServiceOptions,
  type ResolvedServiceOptions,
} from './options/resolve-service-options.js';
import { parseTtl, resolveSettings } from './options/resolve-settings.js';

/** One key, or several that are taken together. */
export type LockKeys = string | readonly string[];

/** What runs under a lock; it gets the handle. */
export type LockWork<T> = (lock: LockHandle) => MaybePromise<T>;

/** Takes and gives locks. Keys are given without the namespace; handles, errors, events and records show it. */
@Injectable()
export class LockService
  implements OnModuleInit, BeforeApplicationShutdown, OnApplicationShutdown, AsyncDisposable
{
  /** What happens to this service's locks in this process; completes at shutdown. */
  readonly events$: Observable<LockEvent>;
  /** @internal */
  readonly engine: LockEngine;
  /** @internal */
  readonly events: LockEvents;
  /** @internal */
  readonly options: ResolvedServiceOptions;
  /** @internal */
  readonly keys: KeySpace;

  private readonly tryDefaults: AcquireSettings;
  private readonly lifecycle: LockServiceLifecycle;

  /** @param bootedTogether the services that go down with this one if it cannot connect; this one if not given */
  constructor(
    options: LockDriver | LockServiceOptions,
    private readonly bootedTogether?: () => Iterable<LockService>,
  ) {
    this.options = resolveServiceOptions(options);
    const { name, driver, node, clockSkew, namespace, defaults, handover } = this.options;
    const logger = new LockLogger(lockServiceName(name), driver.name);
    this.events = new LockEvents((event) => logger.report(event));
    this.engine = new LockEngine({
      driver,
      node,
      events: this.events,
      clockSkew,
      handoverMaxTime: handover.maxTime,
      parseTtl: (ttl) => parseTtl(ttl, clockSkew),
    });
    this.keys = new KeySpace(namespace);
    this.tryDefaults = { ...defaults, wait: 0 };
    this.lifecycle = new LockServiceLifecycle(this.engine, this.options, logger);
    this.events$ = new Observable<LockEvent>((subscriber) =>
      this.events.listen((event) => subscriber.next(event)),
    ).pipe(takeUntil(this.lifecycle.ended$));
  }

  /** Takes the lock, or rejects with a `LockError` that says why not. */
  acquire(keys: LockKeys, options?: AcquireOptions): Promise<LockHandle> {
    try {
      return Promise.resolve(this.take(keys, this.settingsOf(options)));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Takes the lock, or gives null when it is busy; does not wait unless `wait` is given here. */
  tryAcquire(keys: LockKeys, options?: AcquireOptions): Promise<LockHandle | null> {
    try {
      return Promise.resolve(this.take(keys, this.settingsOf(options, this.tryDefaults))).catch(
        nullIfBusy,
      );
    } catch (error) {
      return Promise.reject(error).catch(nullIfBusy);
    }
  }

  /** Runs the work under the lock and releases it afterwards; rejects with `LockLostError` if it was lost meanwhile. */
  withLock<T>(keys: LockKeys, work: LockWork<T>): Promise<T>;
  withLock<T>(keys: LockKeys, options: AcquireOptions | undefined, work: LockWork<T>): Promise<T>;
  withLock<T>(
    keys: LockKeys,
    optionsOrWork: AcquireOptions | undefined | LockWork<T>,
    workAfterOptions?: LockWork<T>,
  ): Promise<T> {
    const short = typeof optionsOrWork === 'function';
    const work = short ? optionsOrWork : workAfterOptions;
    try {
      if (typeof work !== 'function') {
        throw new LockConfigError(
          'withLock needs a function to run: withLock(keys, work) or withLock(keys, options, work)',
        );
      }
      const taken = this.take(keys, this.settingsOf(short ? undefined : optionsOrWork));
      return this.engine.run(taken, work);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** The handle that the calling async context runs under: the innermost, or that of `key`. */
  current(key?: string): LockHandle | undefined {
    return this.engine.current(key === undefined ? undefined : this.keys.one(key));
  }

  /** What the backend knows of the lock, or null when it is free. */
  async inspect(key: string): Promise<LockRecord | null> {
    const fullKey = this.keys.one(key);
    return this.ask('inspect', [fullKey], () => this.options.driver.inspect(fullKey));
  }

  /** The locks that are held now, by whomever, in no particular order. */
  async list(request?: ListRequest): Promise<readonly LockRecord[]> {
    const { prefix, limit } = resolveListRequest(request);
    const fullPrefix = this.keys.prefix(prefix);
    return this.ask('list', [], () => this.options.driver.list({ prefix: fullPrefix, limit }));
  }

  /** Frees the lock whoever holds it, for emergencies: its holder may still be at work. False when nobody held it. */
  async forceRelease(key: string): Promise<boolean> {
    const fullKey = this.keys.one(key);
    return this.ask('forceRelease', [fullKey], () => this.engine.forceRelease(fullKey));
  }

  /** Connects the driver; without Nest call it yourself before the first lock. */
  async onModuleInit(): Promise<void> {
    try {
      await this.lifecycle.boot();
    } catch (error) {
      const services = Array.from(this.bootedTogether?.() ?? [this]);
      await Promise.all(services.map((service) => service.onApplicationShutdown()));
      throw error;
    }
  }

  /** Waits for the locks that are held now, at most for `drainTimeout`; locks are still granted meanwhile. */
  beforeApplicationShutdown(): Promise<void> {
    return this.lifecycle.drain();
  }

  /** Grants nothing more, gives up what is still held, and closes the driver. */
  onApplicationShutdown(): Promise<void> {
    return this.lifecycle.end();
  }

  /** Shuts the service down where there is no Nest application to do it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.beforeApplicationShutdown();
    await this.onApplicationShutdown();
  }

  /**
   * Takes the lock: at once where that is possible, else by a promise.
   * @internal
   */
  take(keys: LockKeys, settings: AcquireSettings): MaybePromise<EngineHandle> {
    if (typeof keys === 'string') {
      return this.engine.acquire(this.keys.one(keys), settings);
    }
    const fullKeys = this.keys.many(keys);
    return fullKeys.length === 1
      ? this.engine.acquire(fullKeys[0] as string, settings)
      : this.engine.acquireAll(fullKeys, settings);
  }

  /**
   * The options of one call over those of the service.
   * @internal
   */
  settingsOf(
    options: AcquireOptions | undefined,
    defaults = this.options.defaults,
  ): AcquireSettings {
    return resolveSettings(defaults, options, this.options.clockSkew);
  }

  private async ask<T>(
    what: string,
    keys: readonly string[],
    question: () => MaybePromise<T>,
  ): Promise<T> {
    try {
      return await question();
    } catch (cause) {
      if (cause instanceof LockError) {
        throw cause;
      }
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new LockDriverError(`${this.options.driver.name} failed to ${what}: ${reason}`, {
        keys,
        cause,
      });
    }
  }
}

function nullIfBusy(error: unknown): null {
  if (error instanceof LockTimeoutError) {
    return null;
  }
  throw error;
}
