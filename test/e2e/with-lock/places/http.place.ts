import { Controller, Get, Inject } from '@nestjs/common';
import { LockService, WithLock } from 'nestjs-distributed-lock';
import { Observable } from 'rxjs';
import { expect } from 'vitest';
import { type HttpAdapterName, request, serve } from '../../../support/http.js';
import { Stage } from '../../../support/stage.js';
import { KEY, moduleOf, type Outcome, type Place, plainValue } from './place.js';

@Controller()
class StageController {
  constructor(@Inject(Stage) private readonly stage: Stage) {}

  @Get('promise')
  @WithLock(KEY)
  promise(): Promise<string> {
    return this.stage.promise();
  }

  @Get('observable')
  @WithLock(KEY)
  observable(): Observable<string> {
    return this.stage.observable();
  }

  @Get('promiseOfObservable')
  @WithLock(KEY)
  promiseOfObservable(): Promise<Observable<string>> {
    return this.stage.promiseOfObservable();
  }

  @Get('ping')
  ping(): string {
    return 'pong';
  }
}

/** A handler of HTTP requests. */
export const httpPlace = (adapter: HttpAdapterName): Place => ({
  async open(setUp) {
    const app = await serve(adapter, moduleOf(setUp, { controllers: [StageController] }));
    return {
      locks: [app.get(LockService)],
      async call(kind): Promise<Outcome> {
        const { status, body } = await request(app, kind);
        return status === 200 ? { value: body } : { error: { status, body } };
      },
      ping: () => request(app, 'ping'),
      close: () => app.close(),
    };
  },
  value: plainValue,
  lockError: (statusCode, code) => ({
    error: { status: statusCode, body: { statusCode, code, message: expect.any(String) } },
  }),
  ownError: () => ({
    error: { status: 500, body: { statusCode: 500, message: 'Internal server error' } },
  }),
});
