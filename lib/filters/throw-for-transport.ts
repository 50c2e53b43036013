import type { ArgumentsHost } from '@nestjs/common';
import { from, mergeMap, type Observable, throwError } from 'rxjs';
import { LockError } from '../errors/lock.error.js';
import type { LockErrorMapper } from '../interfaces/distributed-lock-module-options.interface.js';
import { inTransportForm } from './transport-form.js';

/** Errors that were decided on, nearer to where they came from: they stay as they are. */
const decided = new WeakSet<object>();

/** Throws an error on, a lock error in the form that the caller's transport speaks. */
export function throwForTransport(
  error: unknown,
  host: ArgumentsHost,
  mapErrors: boolean | LockErrorMapper,
): Observable<never> {
  if (!(error instanceof LockError) || decided.has(error)) {
    return throwError(() => error);
  }
  return from(decide(error, host, mapErrors)).pipe(
    mergeMap((exception) => throwError(() => exception)),
  );
}

/** An error in the form that the caller's transport speaks, for those that no interceptor sees; any other stays as it is. */
export async function formForTransport(
  error: unknown,
  host: ArgumentsHost,
  mapErrors: boolean | LockErrorMapper,
): Promise<unknown> {
  return error instanceof LockError && !decided.has(error) ? decide(error, host, mapErrors) : error;
}

async function decide(
  error: LockError,
  host: ArgumentsHost,
  mapErrors: boolean | LockErrorMapper,
): Promise<unknown> {
  const exception = await mapped(error, host, mapErrors);
  if (typeof exception === 'object' && exception !== null) {
    decided.add(exception);
  }
  return exception;
}

async function mapped(
  error: LockError,
  host: ArgumentsHost,
  mapErrors: boolean | LockErrorMapper,
): Promise<unknown> {
  if (mapErrors === false) {
    return error;
  }
  const own: unknown = mapErrors === true ? undefined : await mapErrors(error, host);
  return own ?? inTransportForm(error, host);
}
