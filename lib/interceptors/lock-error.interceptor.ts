import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { catchError, type Observable } from 'rxjs';
import { throwForTransport } from '../filters/throw-for-transport.js';
import type { LockErrorMapper } from '../interfaces/distributed-lock-module-options.interface.js';

/** Answers callers in the form of their transport when something deeper than the handler could not get its lock. */
export class LockErrorInterceptor implements NestInterceptor {
  constructor(private readonly mapErrors: boolean | LockErrorMapper) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next
      .handle()
      .pipe(catchError((error: unknown) => throwForTransport(error, context, this.mapErrors)));
  }
}
