import type { OnModuleInit } from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';
import { attachLockService, lockServiceOf, usesLockService } from './decorators/service-slot.js';
import type { LockService } from './lock.service.js';

/** Finds the objects with locked methods that Nest has not made itself (`useFactory`, `useValue`) and gives them their service. */
export class LockServiceExplorer implements OnModuleInit {
  constructor(
    private readonly modules: ModulesContainer,
    private readonly service: LockService,
  ) {}

  onModuleInit(): void {
    const { name } = this.service.options;
    for (const instance of this.instances()) {
      // An object that outlives its application, as one of a test does, gets the service of the next.
      if (usesLockService(instance, name) && lockServiceOf(instance, name) !== this.service) {
        attachLockService(instance, name, this.service);
      }
    }
  }

  private *instances(): Iterable<object> {
    for (const module of this.modules.values()) {
      for (const { instance } of [...module.providers.values(), ...module.controllers.values()]) {
        if (typeof instance === 'object' && instance !== null) {
          yield instance;
        }
      }
    }
  }
}
