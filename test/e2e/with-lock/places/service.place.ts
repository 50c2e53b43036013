import { Inject, Injectable } from '@nestjs/common';
import { LockService, WithLock } from 'nestjs-distributed-lock';
import { lastValueFrom, Observable } from 'rxjs';
import { expect } from 'vitest';
import { Stage } from '../../../support/stage.js';
import { boot } from '../../module/support.js';
import { KEY, type Kind, moduleOf, outcomeOf, type Place, plainValue } from './place.js';

@Injectable()
class StageService {
  constructor(@Inject(Stage) private readonly stage: Stage) {}

  @WithLock(KEY)
  promise(): Promise<string> {
    return this.stage.promise();
  }

  @WithLock(KEY)
  observable(): Observable<string> {
    return this.stage.observable();
  }

  @WithLock(KEY)
  promiseOfObservable(): Promise<Observable<string>> {
    return this.stage.promiseOfObservable();
  }
}

const CALLS: Record<Kind, (service: StageService) => Promise<string>> = {
  promise: (service) => service.promise(),
  observable: (service) => lastValueFrom(service.observable()),
  promiseOfObservable: async (service) => lastValueFrom(await service.promiseOfObservable()),
};

/** A method of a service, called by whoever has the service. */
export const servicePlace: Place = {
  async open(setUp) {
    const app = await boot(moduleOf(setUp, { providers: [StageService] }));
    return {
      locks: [app.get(LockService)],
      call: (kind) => outcomeOf(CALLS[kind](app.get(StageService))),
      ping: () => new Promise((resolve) => setImmediate(resolve)),
      close: () => app.close(),
    };
  },
  value: plainValue,
  lockError: (statusCode, code) => ({ error: expect.objectContaining({ statusCode, code }) }),
  ownError: (error) => ({ error }),
};
