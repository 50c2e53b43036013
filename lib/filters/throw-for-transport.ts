import type { ArgumentsHost } from '@nestjs/common';
import { from, mergeMap, type Observable, throwError } from 'rxjs';
import { LockError } from '../errors/lock.error.js';
import type { LockErrorMapper } from '../interfaces/distributed-lock-module-options.interface.js';
import { inTransportForm, isInTransportForm } from './transport-form.js';

/** Throws an error on, a lock error in the form that the caller's transport speaks. */
export function throwForTransport(
  error: unknown,
  host: ArgumentsHost,
  mapErrors: boolean | LockErrorMapper,
): Observable<never> {
  if (!(error instanceof LockError) || isInTransportForm(error) || mapErrors === false) {
    return throwError(() => error);
  }
  return from(mapped(error, host, mapErrors)).pipe(
    mergeMap((exception) => throwError(() => exception)),
  );
}

async function mapped(
  error: LockError,
  host: ArgumentsHost,
  mapErrors: true | LockErrorMapper,
): Promise<unknown> {
  const own: unknown = typeof mapErrors === 'function' ? mapErrors(error, host) : undefined;
  return own ?? inTransportForm(error, host);
}
