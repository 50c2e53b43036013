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

/** The chain, subscribed to within the scope; its end, and the value of a promise, are told after the locks were given back. */
function keepingLocks(
  scope: HandlerScope,
  context: ExecutionContext,
  chain: () => Observable<unknown>,
): Observable<unknown> {
  return new Observable((subscriber) => {
    const leave = new Subject<void>();
    const untold: unknown[] = [];
    let last: unknown;
    let isOver = false;
    const end = async (failed: boolean, tell?: () => void): Promise<void> => {
      if (isOver) {
        return;
      }
      isOver = true;
      leave.next();
      scope.end();
      if (responseOutlives(context, last, failed)) {
        whenResponseCloses(context, () => void scope.close());
      } else if (scope.hasBodies) {
        // What runs on keeps its lock; the caller is not made to wait for it.
        void scope.close();
      } else {
        await scope.close();
      }
      tell?.();
    };
    const fail = (error: unknown): void => void end(true, () => subscriber.error(error));
    const succeed = (): void =>
      void end(false, () => {
        untold.forEach((value) => subscriber.next(value));
        subscriber.complete();
      });
    subscriber.add(() => void end(false));
    scope.run(() =>
      chain()
        .pipe(takeUntil(leave))
        .subscribe({
          next: (value) => {
            last = value;
            if (scope.isStream) {
              subscriber.next(value);
            } else {
              untold.push(value);
            }
          },
          error: fail,
          complete: () => (scope.lostError === null ? succeed() : fail(scope.lostError)),
        }),
    );
  });
}
