import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import { catchError, Observable } from 'rxjs';
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
    if (ids.length === 0 || HandlerScope.current?.context === context) {
      return next.handle();
    }
    const scope = new HandlerScope(context, ids);
    return new Observable((subscriber) => {
      let last: unknown;
      const finish = async (tell: () => void): Promise<void> => {
        const closed = scope.close();
        // A body that runs on keeps its lock; the caller is not made to wait for it.
        if (!scope.hasRunning) {
          await closed;
        }
        tell();
      };
      const complete = async (): Promise<void> => {
        const lost = await scope.lostError();
        if (lost !== null) {
          await finish(() => subscriber.error(lost));
        } else if (responseOutlives(context, last)) {
          whenResponseCloses(context, () => void scope.close());
          subscriber.complete();
        } else {
          await finish(() => subscriber.complete());
        }
      };
      const inner = scope.run(() =>
        next.handle().subscribe({
          next: (value: unknown) => {
            last = value;
            subscriber.next(value);
          },
          error: (error: unknown) => void finish(() => subscriber.error(error)),
          complete: () => void complete(),
        }),
      );
      return () => {
        inner.unsubscribe();
        if (!responseOutlives(context, last)) {
          void scope.close();
        }
      };
    }).pipe(catchError((error: unknown) => throwForTransport(error, context, scope.mapErrors)));
  }
}
