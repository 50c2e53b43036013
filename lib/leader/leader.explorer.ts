import type { OnApplicationBootstrap, OnModuleInit } from '@nestjs/common';
import { MetadataScanner, type ModulesContainer } from '@nestjs/core';
import { LockConfigError } from '../errors/lock-config.error.js';
import { declaredCampaigns } from './declared-campaigns.js';
import type { LeaderElection } from './leader-election.js';
import { LeaderListener } from './leader.listener.js';
import { type LeaderRole, leaderRolesOf } from './leader-role.accessor.js';
import { leaderElectionName } from './leader-election.name.js';

type Module = ModulesContainer extends Map<string, infer M> ? M : never;
type InstanceWrapper = Module['providers'] extends Map<unknown, infer W> ? W : never;

/** A method that the application has given a role. */
interface Found {
  readonly role: LeaderRole;
  readonly method: string;
  /** None where the object is made for each request, or for each consumer. */
  readonly instance: object | undefined;
}

/** Finds the methods with a role in elections, starts their campaigns when the application has started, and calls them. */
export class LeaderExplorer implements OnModuleInit, OnApplicationBootstrap {
  private readonly scanner = new MetadataScanner();

  constructor(
    private readonly modules: ModulesContainer,
    private readonly election: LeaderElection,
    private readonly service: string,
  ) {
    election.awaitsStart = true;
  }

  /** Refuses at boot what cannot be, before anybody stands. */
  onModuleInit(): void {
    const found = this.found();
    found.forEach(assertCallable);
    for (const [name, options] of declaredCampaigns(found.map(({ role }) => role))) {
      this.election.check(name, options);
    }
  }

  onApplicationBootstrap(): void {
    this.election.awaitsStart = false;
    const found = this.found();
    const listener = new LeaderListener(leaderElectionName(this.service));
    found.forEach(({ role, instance, method }) =>
      listener.attach(this.election, role, instance, method),
    );
    for (const [name, options] of declaredCampaigns(found.map(({ role }) => role))) {
      this.election.stand(name, options);
    }
  }

  private found(): readonly Found[] {
    const wrappers = [...this.modules.values()].flatMap(({ providers, controllers }) => [
      ...providers.values(),
      ...controllers.values(),
    ]);
    // What is exported under two tokens is one object all the same.
    const seen = new Set<object>();
    return wrappers.flatMap((wrapper) => this.foundIn(wrapper, seen));
  }

  private foundIn(wrapper: InstanceWrapper, seen: Set<object>): Found[] {
    const instance = instanceOf(wrapper);
    const prototype: unknown = instance ?? wrapper.metatype?.prototype;
    if (typeof prototype !== 'object' || prototype === null || seen.has(prototype)) {
      return [];
    }
    seen.add(prototype);
    return this.scanner.getAllMethodNames(prototype).flatMap((method) => {
      const callable: unknown = Reflect.get(prototype, method);
      return typeof callable === 'function'
        ? leaderRolesOf(callable)
            .filter(({ service }) => service === this.service)
            .map((role) => ({ role, method, instance }))
        : [];
    });
  }
}

/** The object, where there is one for the whole life of the application. */
function instanceOf(wrapper: InstanceWrapper): object | undefined {
  // That of a transient one was never constructed: each consumer has its own.
  const isOne = wrapper.isDependencyTreeStatic() && !wrapper.isTransient;
  const instance: unknown = isOne ? wrapper.instance : undefined;
  return typeof instance === 'object' && instance !== null ? instance : undefined;
}

function assertCallable({ role, instance }: Found): void {
  if (instance === undefined && role.kind !== 'only') {
    throw new LockConfigError(
      `${role.where}: its object is made for each request, or for each that injects it, and there is none to call when ` +
        `${role.name} is decided. Put the method on a provider of the default scope`,
    );
  }
}
