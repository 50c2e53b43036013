import {
  applyDecorators,
  Controller,
  Get,
  type INestApplication,
  type NestInterceptor,
  type Type,
  UseInterceptors,
} from '@nestjs/common';
import { type ClientProxy, MessagePattern } from '@nestjs/microservices';
import { DistributedLockModule, WithLock } from 'nestjs-distributed-lock';
import { defer, from, lastValueFrom, Observable, of } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { request, serve } from '../../support/http.js';
import { connectTcp, TCP_OPTIONS } from '../../support/transports.js';
import {
  AsyncTransaction,
  CallbackTransaction,
  DeferredTransaction,
  journal,
  JournalDriver,
  note,
  PlainTransaction,
} from './support/transactions.js';

const none = (): void => undefined;
const body = { failures: 0 };

async function work(): Promise<string> {
  await note('body');
  if (body.failures-- > 0) {
    throw new Error('out of stock');
  }
  return 'done';
}

type Position = 'above @WithLock' | 'below @WithLock' | 'the controller' | 'applyDecorators';

/** A controller with the interceptor in one place. */
function controllerWith(interceptor: Type<NestInterceptor>, position: Position): Type {
  const at = (here: Position): ClassDecorator & MethodDecorator =>
    position === here ? UseInterceptors(interceptor) : none;
  const Locked = (): MethodDecorator =>
    applyDecorators(at('above @WithLock'), WithLock('tx'), at('applyDecorators'));

  @Controller()
  @at('the controller')
  class TransactionController {
    @Get('promise')
    @MessagePattern('promise')
    @Locked()
    @at('below @WithLock')
    promise(): Promise<string> {
      return work();
    }

    @Locked()
    @at('below @WithLock')
    @Get('observable')
    @MessagePattern('observable')
    observable(): Observable<string> {
      return from(work());
    }

    @Locked()
    @at('below @WithLock')
    @Get('promiseOfObservable')
    @MessagePattern('promiseOfObservable')
    async promiseOfObservable(): Promise<Observable<string>> {
      await note('body');
      return defer(() => {
        if (body.failures-- > 0) {
          throw new Error('out of stock');
        }
        return of('done');
      });
    }
  }
  return TransactionController;
}

const KINDS = ['promise', 'observable', 'promiseOfObservable'] as const;
const POSITIONS = [
  'above @WithLock',
  'below @WithLock',
  'the controller',
  'applyDecorators',
] as const;
const INTERCEPTORS = [PlainTransaction, DeferredTransaction, AsyncTransaction, CallbackTransaction];

let app: INestApplication | undefined;
let client: ClientProxy | undefined;

beforeEach(() => {
  journal.length = 0;
  body.failures = 0;
});

afterEach(async () => {
  await client?.close();
  await app?.close();
  app = client = undefined;
});

async function start(controller: Type, adapter: 'Express' | 'Fastify'): Promise<void> {
  app = await serve(
    adapter,
    {
      imports: [DistributedLockModule.forRoot(new JournalDriver())],
      controllers: [controller],
    },
    async (server) => {
      const microservice = server.connectMicroservice(TCP_OPTIONS);
      await server.startAllMicroservices();
      client = await connectTcp(microservice);
    },
  );
}

type Caller = (kind: string) => Promise<unknown>;

const CALLERS: Record<string, { adapter: 'Express' | 'Fastify'; call: Caller }> = {
  Express: { adapter: 'Express', call: async (kind) => (await request(app!, kind)).body },
  Fastify: { adapter: 'Fastify', call: async (kind) => (await request(app!, kind)).body },
  TCP: { adapter: 'Express', call: (kind) => lastValueFrom(client!.send(kind, '')) },
};

/** From where the lock is taken to where it is given back. */
const locked = (): string[] => journal.slice(journal.indexOf('lock tx'));

describe.each(Object.entries(CALLERS))('over %s', (_, { adapter, call }) => {
  describe.each(INTERCEPTORS)('%o', (interceptor) => {
    describe.each(POSITIONS)('on %s', (position) => {
      it.each(KINDS)('commits before the lock goes, with a %s', async (kind) => {
        await start(controllerWith(interceptor, position), adapter);
        expect(await call(kind)).toBe('done');
        expect(locked()).toEqual(['lock tx', 'body', 'commit', 'unlock tx']);
      });

      it.each(KINDS)('rolls back before the lock goes, with a %s', async (kind) => {
        await start(controllerWith(interceptor, position), adapter);
        body.failures = 1;
        await call(kind).catch(none);
        expect(locked()).toEqual(['lock tx', 'body', 'rollback', 'unlock tx']);
      });
    });
  });
});
