import type {
  ArgumentsHost,
  InjectionToken,
  ModuleMetadata,
  OptionalFactoryDependency,
  Type,
} from '@nestjs/common';
import type { LockError } from '../errors/lock.error.js';
import type { FencingOptions } from './fencing.interface.js';
import type { CampaignOptions } from './leader-election.interface.js';
import type { LockDriver, MaybePromise } from './lock-driver.interface.js';
import type { Duration, LockOptions } from './lock-options.interface.js';

/** How waiters of one process follow one another under one lease. */
export interface HandoverOptions {
  /**
   * For how long before other processes get their chance.
   * @default '100ms'
   */
  readonly maxTime?: Duration;
}

/** Makes of an error what the transport shall answer; returning undefined leaves it to the package. */
export type LockErrorMapper = (error: LockError, host: ArgumentsHost) => unknown;

/** A call of a locked method that did not get its lock, and so was not run. */
export interface RefusedCall {
  /** Class and method: `OrdersService.pay`. */
  readonly method: string;
  readonly args: readonly unknown[];
  /** The `LockTimeoutError` or `LockDriverError` that its caller gets. */
  readonly error: LockError;
}

/** Is told of a call that was refused; it may throw what the caller gets instead of the lock's error. */
export type RefusalHandler = (refused: RefusedCall) => MaybePromise<void>;

/** What is put before every key; a function is asked at each call, for a tenant say. */
export type LockNamespace = string | (() => string | number | bigint | undefined);

/** Options of a lock service: those of all its locks, and its own. */
export interface LockServiceOptions extends Omit<LockOptions, 'handover'> {
  /** The backend that grants the locks. */
  readonly driver: LockDriver;
  /**
   * Tells several instances apart: `@InjectLockService('billing')`.
   * @default 'default'
   */
  readonly name?: string;
  /**
   * Put before every key with a colon: application, environment, tenant.
   * @default none
   */
  readonly namespace?: LockNamespace;
  /**
   * Names this process in what others see of its locks.
   * @default `<host>:<pid>`
   */
  readonly node?: string;
  /**
   * How long a shutdown waits for the locks that are held.
   * @default '10s'
   */
  readonly drainTimeout?: Duration;
  /**
   * By how much this machine's clock may run slower than the backend's during one ttl.
   * @default 0
   */
  readonly clockSkew?: Duration;
  /**
   * Let waiters of this process follow one another under one lease, without a round trip.
   * @default true
   */
  readonly handover?: boolean | HandoverOptions;
  /**
   * Answer callers with what their transport speaks (HTTP status, RpcException, ...).
   * @default true
   */
  readonly mapErrors?: boolean | LockErrorMapper;
  /**
   * Is told when a locked method finds its lock busy, unless the method has an `onBusy` of its own. What it returns is
   * no answer: that only a method can know.
   * @default 'throw'
   */
  readonly onBusy?: 'throw' | RefusalHandler;
  /**
   * The same for a backend that is down.
   * @default none
   */
  readonly onUnavailable?: RefusalHandler;
  /**
   * What all campaigns for leadership have in common.
   * @default the defaults of `CampaignOptions`
   */
  readonly leader?: CampaignOptions;
  /**
   * What the fencing gate goes by.
   * @default the defaults of `FencingOptions`
   */
  readonly fencing?: FencingOptions;
}

/** Options of `DistributedLockModule.forRoot`. */
export interface DistributedLockModuleOptions extends LockServiceOptions {
  /**
   * Whether all modules see the service without importing this one.
   * @default true
   */
  readonly isGlobal?: boolean;
}

/** What a factory gives: a driver, or options; `name` and `isGlobal` stand beside the factory. */
export type DistributedLockFactoryResult = LockDriver | Omit<LockServiceOptions, 'name'>;

/** A class that makes the options, for `useClass` and `useExisting`. */
export interface DistributedLockOptionsFactory {
  createLockOptions(): MaybePromise<DistributedLockFactoryResult>;
}

/** Options of `DistributedLockModule.forRootAsync`; exactly one of the three `use...` must be given. */
export interface DistributedLockModuleAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  /**
   * Tells several instances apart; Nest needs it before the factory runs.
   * @default 'default'
   */
  readonly name?: string;
  /**
   * Whether all modules see the service without importing this one; Nest needs it before the factory runs.
   * @default true
   */
  readonly isGlobal?: boolean;
  /** What the factory gets. */
  readonly inject?: readonly (InjectionToken | OptionalFactoryDependency)[];
  readonly useFactory?: (...dependencies: never[]) => MaybePromise<DistributedLockFactoryResult>;
  readonly useClass?: Type<DistributedLockOptionsFactory>;
  readonly useExisting?: InjectionToken<DistributedLockOptionsFactory>;
}
