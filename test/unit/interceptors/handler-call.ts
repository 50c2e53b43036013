import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { InterceptorsConsumer } from '@nestjs/core/interceptors/interceptors-consumer.js';
import { defer, mergeAll, type Observable } from 'rxjs';
import { LockInterceptor } from '../../../lib/interceptors/lock.interceptor.js';

/** What stands between a caller and a handler. */
export interface HandlerCall {
  readonly args?: readonly unknown[];
  /** @default 'http' */
  readonly type?: string;
  /** Global interceptors, outside the lock's. */
  readonly outside?: readonly Around[];
  /** Those of the class and of the method, inside the lock's. */
  readonly inside?: readonly Around[];
  /** As a request is, that comes before the response among what the transport hands over. */
  readonly request?: object;
  readonly response?: object;
}

/** An interceptor in short. */
export type Around = (next: CallHandler, context: ExecutionContext) => Observable<unknown>;

const interceptor = (around: Around): NestInterceptor => ({
  intercept: (context, next) => around(next, context),
});

/** Calls a method as Nest calls a handler, each time somebody subscribes; `@WithLock` has bound its interceptor to class and method. */
export function callHandler(
  controller: object,
  name: string,
  {
    args = [],
    type = 'http',
    outside = [],
    inside = [],
    request = {},
    response = {},
  }: HandlerCall = {},
): Observable<unknown> {
  const handler = (controller as Record<string, (...args: unknown[]) => unknown>)[name]!;
  const chain = [
    ...outside.map(interceptor),
    new LockInterceptor(),
    new LockInterceptor(),
    ...inside.map(interceptor),
  ];
  return defer(() =>
    new InterceptorsConsumer().intercept(
      chain,
      [request, response],
      controller as { constructor: never },
      handler,
      async () => handler.apply(controller, [...args]),
      type as never,
    ),
  ).pipe(mergeAll() as never);
}

/** Calls a method with nothing around it but the lock's interceptor, and as directly as a `CallHandler` can. */
export function callDirectly(
  controller: object,
  name: string,
  call: (method: () => unknown) => Observable<unknown>,
  { args = [], type = 'http', request = {}, response = {} }: HandlerCall = {},
): Observable<unknown> {
  const handler = (controller as Record<string, (...args: unknown[]) => unknown>)[name]!;
  const context = new ExecutionContextHost(
    [request, response],
    controller.constructor as never,
    handler,
  );
  context.setType(type);
  return new LockInterceptor().intercept(context, {
    handle: () => call(() => handler.apply(controller, [...args])),
  });
}
