import { Controller, type INestMicroservice, Inject } from '@nestjs/common';
import { type ClientProxy, MessagePattern, type MicroserviceOptions } from '@nestjs/microservices';
import { LockService, WithLock } from 'nestjs-distributed-lock';
import { firstValueFrom, lastValueFrom, Observable } from 'rxjs';
import { expect } from 'vitest';
import { uniqueName } from '../../../support/http.js';
import { Stage } from '../../../support/stage.js';
import {
  connect,
  connectTcp,
  listen,
  redisOptions,
  TCP_OPTIONS,
} from '../../../support/transports.js';
import type { RedisAddress } from '../../../support/redis/redis-address.js';
import { KEY, type Kind, moduleOf, outcomeOf, type Place, plainValue } from './place.js';

// A broker may serve others too.
const run = uniqueName('table');
const PING = `${run}:ping`;
const patternOf = (kind: Kind): string => `${run}:${kind}`;

@Controller()
class StageMessages {
  constructor(@Inject(Stage) private readonly stage: Stage) {}

  @MessagePattern(patternOf('promise'))
  @WithLock(KEY)
  promise(): Promise<string> {
    return this.stage.promise();
  }

  @MessagePattern(patternOf('observable'))
  @WithLock(KEY)
  observable(): Observable<string> {
    return this.stage.observable();
  }

  @MessagePattern(patternOf('promiseOfObservable'))
  @WithLock(KEY)
  promiseOfObservable(): Promise<Observable<string>> {
    return this.stage.promiseOfObservable();
  }

  @MessagePattern(PING)
  ping(): string {
    return 'pong';
  }
}

/** Most callers take the first value for the answer. */
const answerOf = (kind: Kind): ((answers: Observable<unknown>) => Promise<unknown>) =>
  kind === 'promise' ? firstValueFrom : lastValueFrom;

function rpcPlace(
  options: () => MicroserviceOptions,
  connectTo: (server: INestMicroservice) => Promise<ClientProxy>,
): Place {
  return {
    async open(setUp) {
      const app = await listen(options(), moduleOf(setUp, { controllers: [StageMessages] }));
      const client = await connectTo(app);
      return {
        locks: [app.get(LockService)],
        call: (kind) => outcomeOf(answerOf(kind)(client.send(patternOf(kind), ''))),
        ping: () => lastValueFrom(client.send(PING, '')),
        async close() {
          await client.close();
          await app.close();
        },
      };
    },
    value: plainValue,
    lockError: (statusCode, code) => ({
      error: { statusCode, code, message: expect.any(String) },
    }),
    ownError: () => ({ error: { status: 'error', message: 'Internal server error' } }),
  };
}

/** A handler of messages that come over TCP. */
export const tcpPlace = rpcPlace(() => TCP_OPTIONS, connectTcp);

/** A handler of messages that come through Redis. */
export const redisPlace = (redis: () => RedisAddress): Place =>
  rpcPlace(
    () => redisOptions(redis()),
    () => connect(redisOptions(redis())),
  );
