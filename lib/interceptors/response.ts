import type { ExecutionContext } from '@nestjs/common';
import { methodNameOf } from '../decorators/locked-method.accessor.js';
import {
  RESPONSE_PASSTHROUGH_METADATA,
  ROUTE_ARGS_METADATA,
  SSE_METADATA,
} from '@nestjs/common/constants.js';

/** What this file needs of a response, of Express or, inside its reply, of Fastify. */
interface RawResponse {
  readonly closed?: boolean;
  readonly destroyed?: boolean;
  readonly headersSent?: boolean;
  once?(event: 'close', listener: () => void): unknown;
}

/** The kinds of parameters, in Nest's metadata, with which a handler answers by itself. */
const RESPONSE = '1';
const NEXT = '2';

/** Whether the handler must give a value, as Nest waits for the last one. */
export function needsValue(context: ExecutionContext): boolean {
  return context.getType() === 'http' && !Reflect.getMetadata(SSE_METADATA, context.getHandler());
}

/** Whether the response goes on after the handler's observable has completed: a stream, or a handler that answers itself. */
export function responseOutlives(
  context: ExecutionContext,
  value: unknown,
  failed: boolean,
): boolean {
  if (context.getType() !== 'http' || !(isStream(value) || answersItself(context))) {
    return false;
  }
  // A handler that fails before it has answered is answered for by Nest.
  return !failed || headersSent(context);
}

/** Calls back once the response is closed, whether it was sent or its receiver left. */
export function whenResponseCloses(context: ExecutionContext, callback: () => void): void {
  const response = context.switchToHttp().getResponse<RawResponse & { raw?: RawResponse }>();
  const raw = response.raw ?? response;
  if (raw.closed || raw.destroyed || raw.once === undefined) {
    callback();
  } else {
    raw.once('close', callback);
  }
}

function headersSent(context: ExecutionContext): boolean {
  const response = context.switchToHttp().getResponse<RawResponse & { raw?: RawResponse }>();
  return (response.raw ?? response).headersSent ?? false;
}

function isStream(value: unknown): boolean {
  const stream = value as
    { getStream?: unknown; pipe?: unknown; [Symbol.asyncIterator]?: unknown } | null | undefined;
  return (
    typeof stream === 'object' &&
    stream !== null &&
    (typeof stream.getStream === 'function' ||
      typeof stream.pipe === 'function' ||
      typeof stream[Symbol.asyncIterator] === 'function')
  );
}

function answersItself(context: ExecutionContext): boolean {
  const type = context.getClass();
  const name = methodNameOf(context.getHandler());
  if (Reflect.getMetadata(RESPONSE_PASSTHROUGH_METADATA, type, name)) {
    return false;
  }
  const parameters = (Reflect.getMetadata(ROUTE_ARGS_METADATA, type, name) ?? {}) as object;
  return Object.keys(parameters).some((key) => {
    const [kind] = key.split(':');
    return kind === RESPONSE || kind === NEXT;
  });
}
