import type { LockDriver } from '../../interfaces/lock-driver.interface.js';
import { LockService } from '../../lock.service.js';
import { DriverFixture } from './driver-fixture.js';

/** Two lock services on one store, as two processes would have them. */
export class ServiceFixture extends DriverFixture {
  #services: readonly [LockService, LockService] | undefined;

  override async start(): Promise<void> {
    await super.start();
    const services = [serviceOn(this.driver), serviceOn(this.second)] as const;
    for (const service of services) {
      await service.onModuleInit();
    }
    this.#services = services;
  }

  override async stop(): Promise<void> {
    for (const service of this.#services ?? []) {
      await service[Symbol.asyncDispose]();
    }
    await super.stop();
  }

  get services(): readonly [LockService, LockService] {
    if (this.#services === undefined) {
      throw new Error('The services are made when the tests begin to run');
    }
    return this.#services;
  }
}

/** A failed test may still hold locks, and they are not worth waiting for. */
function serviceOn(driver: LockDriver): LockService {
  return new LockService({ driver, drainTimeout: 0 });
}
