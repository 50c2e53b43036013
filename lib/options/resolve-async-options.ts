import type {
  InjectionToken,
  ModuleMetadata,
  OptionalFactoryDependency,
  Provider,
  Type,
} from '@nestjs/common';
import { DEFAULT_LOCK_NAME } from '../distributed-lock.constants.js';
import { LockConfigError } from '../errors/lock-config.error.js';
import type {
  DistributedLockFactoryResult,
  DistributedLockModuleAsyncOptions,
  DistributedLockOptionsFactory,
  LockServiceOptions,
} from '../interfaces/distributed-lock-module-options.interface.js';
import type { MaybePromise } from '../interfaces/lock-driver.interface.js';
import { badOption } from './option-error.js';
import { flag, mergeOptions, type OptionParser, type OptionParsers } from './option-parsers.js';
import { isDriver } from './resolve-service-options.js';
import { text } from './text-parsers.js';

/** What an instance's options are made with, and from what. */
export interface OptionsSource {
  readonly providers: readonly Provider[];
  readonly inject: readonly (InjectionToken | OptionalFactoryDependency)[];
  readonly make: (...dependencies: never[]) => MaybePromise<DistributedLockFactoryResult>;
}

/** The options of `forRootAsync` after they were checked. */
export interface ResolvedAsyncOptions {
  readonly name: string;
  readonly isGlobal: boolean;
  readonly imports: NonNullable<ModuleMetadata['imports']>;
  readonly source: OptionsSource;
}

type AsyncSettings = Required<
  Pick<DistributedLockModuleAsyncOptions, 'name' | 'isGlobal' | 'imports' | 'inject'>
> &
  Pick<DistributedLockModuleAsyncOptions, 'useFactory' | 'useClass' | 'useExisting'>;

const DEFAULTS: AsyncSettings = {
  name: DEFAULT_LOCK_NAME,
  isGlobal: true,
  imports: [],
  inject: [],
};

const PARSERS: OptionParsers<AsyncSettings> = {
  name: text,
  isGlobal: flag,
  imports: passing('an array of modules', Array.isArray),
  inject: passing('an array of injection tokens', Array.isArray),
  useFactory: passing('a function', (value) => typeof value === 'function'),
  useClass: passing('a class with createLockOptions()', (value) => typeof value === 'function'),
  useExisting: passing('an injection token', (value) => value !== null),
};

/** Checks the options of `forRootAsync`; what its factory gives is not known yet. */
export function resolveAsyncOptions(
  options: DistributedLockModuleAsyncOptions,
): ResolvedAsyncOptions {
  const settings = mergeOptions(DEFAULTS, options, PARSERS);
  const { name, isGlobal, imports } = settings;
  return { name, isGlobal, imports, source: sourceOf(settings) };
}

/** Checks what a factory gave as far as the service itself will not do it. */
export function checkFactoryResult(
  result: DistributedLockFactoryResult,
): Omit<LockServiceOptions, 'name'> {
  if (typeof result !== 'object' || result === null) {
    throw new LockConfigError(
      'The factory of forRootAsync gave neither a lock driver nor options with one',
    );
  }
  if (isDriver(result)) {
    return { driver: result };
  }
  const misplaced = ['name', 'isGlobal'].find((name) => Object.hasOwn(result, name));
  if (misplaced !== undefined) {
    throw new LockConfigError(
      `Option \`${misplaced}\` must stand beside the factory of forRootAsync, not in what it gives: Nest needs it before`,
    );
  }
  return result;
}

function sourceOf({ useFactory, useClass, useExisting, inject }: AsyncSettings): OptionsSource {
  const given = [useFactory, useClass, useExisting].filter((way) => way !== undefined);
  if (given.length !== 1) {
    throw new LockConfigError(
      `forRootAsync needs exactly one of useFactory, useClass and useExisting, but has ${given.length}`,
    );
  }
  if (useFactory !== undefined) {
    return { providers: [], inject, make: useFactory };
  }
  const token = (useClass ?? useExisting) as Type<DistributedLockOptionsFactory>;
  return { providers: useClass === undefined ? [] : [useClass], inject: [token], make: askFactory };
}

function askFactory(
  factory: DistributedLockOptionsFactory,
): MaybePromise<DistributedLockFactoryResult> {
  if (typeof factory?.createLockOptions !== 'function') {
    throw new LockConfigError(
      'What useClass or useExisting names has no method createLockOptions()',
    );
  }
  return factory.createLockOptions();
}

/** Only looks at the value: Nest is the one who understands it. */
function passing<T>(allowed: string, test: (value: unknown) => boolean): OptionParser<T> {
  return (value, name) => {
    if (!test(value)) {
      throw badOption(name, value, allowed);
    }
    return value as T;
  };
}
