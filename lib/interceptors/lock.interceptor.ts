import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import { catchError, defer, Observable, Subject, takeUntil, throwError } from 'rxjs';
import { lockIdsOf } from '../decorators/locked-method.accessor.js';
import { throwForTransport } from '../filters/throw-for-transport.js';
import { HandlerScope } from './handler-scope.js';
import { responseOutlives, whenResponseCloses } from './response.js';

/**
 * Keeps the locks of a handler until all that is around its method is done, so that a transaction interceptor commits
 * before the lock goes. `@WithLock` binds it, outside of all interceptors of the method and of its class.
 */
@Injectable()
export class LockInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const ids = lockIdsOf(context.getHandler());
    // Bound to class and method, it comes twice; the outer one does it.
    if (ids.length === 0 || HandlerScope.isOpenFor(context)) {
      return next.handle();
    }
    return defer(() => {
      const scope = new HandlerScope(context, ids);
      return keepingLocks(scope, context, () => next.handle()).pipe(
        catchError((error: unknown) =>
          scope.mapErrors === undefined
            ? throwError(() => error)
            : throwForTransport(error, context, scope.mapErrors),
        ),
      );
    });
  }
}

/** The chain, subscribed to within the scope; its end is told after the locks were given back. */
function keepingLocks(
  scope: HandlerScope,
  context: ExecutionContext,
  chain: () => Observable<unknown>,
): Observable<unknown> {
  return new Observable((subscriber) => {
    const leave = new Subject<void>();
    let last: unknown;
    let isOver = false;
    const end = async (tell?: () => void): Promise<void> => {
      if (isOver) {
        return;
      }
      isOver = true;
      leave.next();
      scope.end();
      if (responseOutlives(context, last)) {
        whenResponseCloses(context, () => void scope.close());
      } else if (!scope.hasVisits) {
        await scope.close();
      } else {
        // A body that runs on keeps its lock; the caller is not made to wait for it.
        void scope.close();
      }
      tell?.();
    };
    const complete = (): void => {
      const lost = scope.lostError;
      void end(() => (lost === null ? subscriber.complete() : subscriber.error(lost)));
    };
    subscriber.add(() => void end());
    scope.run(() =>
      chain()
        .pipe(takeUntil(leave))
        .subscribe({
          next: (value) => {
            last = value;
            subscriber.next(value);
          },
          error: (error: unknown) => void end(() => subscriber.error(error)),
          complete,
        }),
    );
  });
}
