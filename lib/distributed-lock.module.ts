import { type DynamicModule, type FactoryProvider, Module } from '@nestjs/common';
import { APP_INTERCEPTOR, ModulesContainer } from '@nestjs/core';
import { LockConfigError } from './errors/lock-config.error.js';
import type {
  DistributedLockModuleAsyncOptions,
  DistributedLockModuleOptions,
  LockServiceOptions,
} from './interfaces/distributed-lock-module-options.interface.js';
import type { LockDriver } from './interfaces/lock-driver.interface.js';
import { FencingGate } from './fencing/fencing-gate.js';
import { getFencingGateToken } from './fencing/fencing-gate.token.js';
import { LockErrorInterceptor } from './interceptors/lock-error.interceptor.js';
import { LeaderElection } from './leader/leader-election.js';
import { getLeaderElectionToken } from './leader/leader-election.token.js';
import { LeaderExplorer } from './leader/leader.explorer.js';
import { LockServiceExplorer } from './lock-service.explorer.js';
import { LockService } from './lock.service.js';
import { getLockServiceToken } from './lock-service.token.js';
import {
  checkFactoryResult,
  type ResolvedAsyncOptions,
  resolveAsyncOptions,
} from './options/resolve-async-options.js';
import { isDriver, resolveServiceOptions } from './options/resolve-service-options.js';

/** Brings `LockService` into an application. */
@Module({})
export class DistributedLockModule {
  /** One instance over a driver that is there already: `forRoot(driver)` or `forRoot({ driver, ttl: '30s' })`. */
  static forRoot(options: LockDriver | DistributedLockModuleOptions): DynamicModule {
    const { name, isGlobal } = resolveServiceOptions(options);
    const make = (): LockDriver | Omit<LockServiceOptions, 'name'> =>
      isDriver(options) ? options : withoutPlace(options);
    return defineModule({
      name,
      isGlobal,
      imports: [],
      source: { providers: [], inject: [], make },
    });
  }

  /** One instance whose driver or options are made from what the application provides. */
  static forRootAsync(options: DistributedLockModuleAsyncOptions): DynamicModule {
    return defineModule(resolveAsyncOptions(options));
  }
}

function withoutPlace({
  name: _name,
  isGlobal: _isGlobal,
  ...options
}: DistributedLockModuleOptions): LockServiceOptions {
  return options;
}

function defineModule({ name, isGlobal, imports, source }: ResolvedAsyncOptions): DynamicModule {
  const token = getLockServiceToken(name);
  // Options and service by one factory: a circle through two hangs the boot of Nest 11 instead of being told.
  const service: FactoryProvider<LockService> = {
    provide: token,
    inject: [ModulesContainer, ...source.inject],
    useFactory: async (modules: ModulesContainer, ...dependencies: unknown[]) => {
      // Before the factory: a refused instance must not have made a driver.
      assertOnlyInstance(modules, name);
      const options = checkFactoryResult(await source.make(...(dependencies as never[])));
      return new LockService({ ...options, name }, () => lockServicesIn(modules));
    },
  };
  const explorer: FactoryProvider<LockServiceExplorer> = {
    provide: LockServiceExplorer,
    inject: [ModulesContainer, token],
    useFactory: (modules: ModulesContainer, locks: LockService) =>
      new LockServiceExplorer(modules, locks),
  };
  const election: FactoryProvider<LeaderElection> = {
    provide: getLeaderElectionToken(name),
    inject: [token],
    useFactory: (locks: LockService) => LeaderElection.of(locks),
  };
  const leaders: FactoryProvider<LeaderExplorer> = {
    provide: LeaderExplorer,
    inject: [ModulesContainer, election.provide],
    useFactory: (modules: ModulesContainer, elections: LeaderElection) =>
      new LeaderExplorer(modules, elections, name),
  };
  const gate: FactoryProvider<FencingGate> = {
    provide: getFencingGateToken(name),
    inject: [token],
    useFactory: (locks: LockService) => new FencingGate(locks),
  };
  const errors: FactoryProvider<LockErrorInterceptor> = {
    provide: APP_INTERCEPTOR,
    inject: [token],
    useFactory: (locks: LockService) => new LockErrorInterceptor(locks.options.mapErrors),
  };
  return {
    module: DistributedLockModule,
    global: isGlobal,
    imports,
    providers: [...source.providers, service, gate, explorer, election, leaders, errors],
    exports: [token, gate.provide, election.provide],
  };
}

/** Nest tells modules apart by reference, so a second one of the same name would silently have locks of its own. */
function assertOnlyInstance(modules: ModulesContainer, name: string): void {
  const token = getLockServiceToken(name);
  const instances = [...modules.values()].filter(
    ({ metatype, providers }) => metatype === DistributedLockModule && providers.has(token),
  );
  if (instances.length > 1) {
    throw new LockConfigError(
      `DistributedLockModule is set up ${instances.length} times with the name "${name}": set it up once and import that, ` +
        `or give each its own \`name\``,
    );
  }
}

function lockServicesIn(modules: ModulesContainer): LockService[] {
  return [...modules.values()]
    .filter(({ metatype }) => metatype === DistributedLockModule)
    .flatMap(({ providers }) => [...providers.values()])
    .map((provider): unknown => provider.instance)
    .filter((instance) => instance instanceof LockService);
}
