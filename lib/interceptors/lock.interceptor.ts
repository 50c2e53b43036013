import { AsyncResource } from 'node:async_hooks';
import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import { catchError, defer, Observable, Subject, takeUntil, throwError } from 'rxjs';
import { lockIdsOf } from '../decorators/locked-method.accessor.js';
import { throwForTransport } from '../filters/throw-for-transport.js';
import { LockLostError } from '../errors/lock-lost.error.js';
import { HandlerScope } from './handler-scope.js';
import { responseOutlives, whenResponseCloses } from './response.js';
import { hasScope, runInScope } from './visit.js';

/**
 * Keeps the locks of a handler until all that is around its method is done, so that a transaction interceptor commits
 * before the lock goes. `@WithLock` binds it, outside of all interceptors of the method and of its class.
 */
@Injectable()
export class LockInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const ids = lockIdsOf(context.getHandler());
    // Bound to class and method, it comes twice; the outer one does it.
    if (ids.length === 0 || hasScope(context)) {
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
    // Whoever is outside runs in no scope, and under none of its locks.
    const subscribing = new AsyncResource('LockInterceptor');
    const values = new HeldValues((value) =>
      subscribing.runInAsyncScope(() => subscriber.next(value)),
    );
    let last: unknown;
    let isOver = false;
    const end = async (failed: boolean, tell?: () => void): Promise<void> => {
      if (isOver) {
        return;
      }
      isOver = true;
      values.hold();
      leave.next();
      scope.end();
      // RxJS tells of the end first and leaves what is to be left after that.
      await Promise.resolve();
      if (responseOutlives(context, last, failed)) {
        whenResponseCloses(context, () => void scope.close());
      } else if (scope.hasBodies) {
        // What runs on keeps its lock; the caller is not made to wait for it.
        void scope.close();
      } else {
        await scope.close();
      }
      if (tell !== undefined) {
        subscribing.runInAsyncScope(tell);
      }
    };
    const fail = (error: unknown): void =>
      void end(true, () => {
        // What was done without a lock is not passed on.
        if (!(error instanceof LockLostError)) {
          values.tell();
        }
        subscriber.error(error);
      });
    const succeed = (): void =>
      void end(false, () => {
        values.tell();
        subscriber.complete();
      });
    subscriber.add(() => void end(false));
    runInScope(scope, () =>
      chain()
        .pipe(takeUntil(leave))
        .subscribe({
          next: (value) => {
            last = value;
            values.next(value, scope.isStream);
          },
          error: fail,
          complete: () => (scope.kept.lostError === null ? succeed() : fail(scope.kept.lostError)),
        }),
    );
  });
}

/**
 * The value of a promise is told when the lock is back, for whoever gets it may come again at once. A promise's value
 * comes together with its end; where no end follows within a turn of the event loop, the chain is a stream after all.
 */
class HeldValues {
  #values: unknown[] = [];
  #flush: NodeJS.Immediate | undefined;

  constructor(private readonly pass: (value: unknown) => void) {}

  next(value: unknown, isStream: boolean): void {
    if (isStream) {
      this.hold();
      this.tell();
      this.pass(value);
      return;
    }
    this.#values.push(value);
    this.#flush ??= setImmediate(() => {
      this.#flush = undefined;
      this.tell();
    });
  }

  /** The end has come: values wait for it. */
  hold(): void {
    clearImmediate(this.#flush);
  }

  tell(): void {
    const values = this.#values;
    this.#values = [];
    values.forEach((value) => this.pass(value));
  }
}
