import { type ArgumentsHost, type ExecutionContext, HttpException } from '@nestjs/common';
import { type LockError, STANDS_FOR } from '../errors/lock.error.js';

/** How @nestjs/microservices marks a handler, and what it marks an event's with. */
const HANDLER_TYPE = 'microservices:handler_type';
const EVENT = 2;

/** What a caller outside is told; the keys are not. */
export interface LockErrorBody {
  readonly statusCode: number;
  readonly code: string;
  readonly message: string;
}

const MESSAGES: Record<string, string> = {
  LOCK_TIMEOUT: 'The resource is busy, try again later',
  LOCK_LOST: 'The lock on the resource was lost while it was in use',
  LOCK_ABORTED: 'The request was aborted while it waited for the resource',
  LOCK_DRIVER: 'The resource cannot be locked at the moment, try again later',
  LOCK_KEY: 'The request does not name the resource to lock',
  LOCK_QUEUE_FULL: 'Too many wait for the resource, try again later',
  LOCK_CLOSED: 'The server is shutting down, try again later',
  STALE_FENCING_TOKEN: 'A newer holder of the resource has been here',
  FENCING_TOKEN: 'The request has no valid fencing token',
};

function bodyOf({ statusCode, code }: LockError): LockErrorBody {
  return { statusCode, code, message: MESSAGES[code] ?? 'Internal server error' };
}

/** Whether an error has been made ready for its transport already. */
export function isInTransportForm(error: object): boolean {
  return STANDS_FOR in error;
}

/** The error in the form that the caller's transport speaks; it still counts as the lock error it stands for. */
export async function inTransportForm(error: LockError, host: ArgumentsHost): Promise<Error> {
  const body = bodyOf(error);
  switch (host.getType<string>()) {
    case 'http':
      return inHttpForm(error, host);
    case 'rpc': {
      if (isEvent(host)) {
        return error;
      }
      const { RpcException } = await import('@nestjs/microservices');
      return standFor(error, new RpcException(body));
    }
    case 'ws': {
      const { WsException } = await import('@nestjs/websockets');
      return standFor(error, new WsException(body));
    }
    default: {
      const { statusCode, code, message } = body;
      const exception = new HttpException(message, statusCode, { cause: error });
      return Object.assign(standFor(error, exception), { extensions: { code, statusCode } });
    }
  }
}

/** Nobody waits for an answer to an event: the error is Nest's to log, with its key. */
function isEvent(host: ArgumentsHost): boolean {
  const handler: Function | null | undefined = (host as Partial<ExecutionContext>).getHandler?.();
  return typeof handler === 'function' && Reflect.getMetadata(HANDLER_TYPE, handler) === EVENT;
}

/** The error as an HTTP response, with Retry-After where it makes sense. */
export function inHttpForm(error: LockError, host: ArgumentsHost): HttpException {
  setRetryAfter(error, host);
  return standFor(error, new HttpException(bodyOf(error), error.statusCode, { cause: error }));
}

/** Gives the exception everything that a filter for the lock error may ask for, but for its name and message. */
function standFor<T extends Error>(error: LockError, exception: T): T {
  const { name: _name, ...details } = Object.fromEntries(Object.entries(error));
  return Object.assign(exception, details, { key: error.key, [STANDS_FOR]: error });
}

/** Express's response or Fastify's reply. */
interface Response {
  readonly headersSent?: boolean;
  readonly raw?: { readonly headersSent?: boolean };
  header?(name: string, value: string): unknown;
}

function setRetryAfter(error: LockError, host: ArgumentsHost): void {
  const response = host.switchToHttp().getResponse<Response>();
  const isLate = response.headersSent ?? response.raw?.headersSent;
  if ((error.statusCode === 423 || error.statusCode === 503) && !isLate) {
    const { retryAfter = 0 } = error as { retryAfter?: number };
    response.header?.('Retry-After', String(Math.max(1, Math.ceil(retryAfter / 1000))));
  }
}
