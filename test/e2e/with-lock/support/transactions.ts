import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import type {
  AcquireRequest,
  Denial,
  Grant,
  MaybePromise,
  ReleaseRequest,
  ReleaseResult,
} from 'nestjs-distributed-lock';
import { TestLockDriver } from 'nestjs-distributed-lock/testing';
import { catchError, concatMap, defer, from, lastValueFrom, mergeMap, type Observable } from 'rxjs';

/** What happened, in its order. */
export const journal: string[] = [];

/** Writes down when a lock is taken and given back. */
export class JournalDriver extends TestLockDriver {
  override acquire(wanted: AcquireRequest): MaybePromise<Grant | Denial> {
    journal.push(`lock ${wanted.key}`);
    return super.acquire(wanted);
  }

  override release(lease: ReleaseRequest): MaybePromise<ReleaseResult> {
    journal.push(`unlock ${lease.key}`);
    return super.release(lease);
  }
}

/** Takes a while, as a database does. */
export async function note(what: string): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  journal.push(what);
}

function transaction(handled: Observable<unknown>): Observable<unknown> {
  return handled.pipe(
    concatMap(async (value) => {
      await note('commit');
      return value;
    }),
    catchError(async (error: unknown) => {
      await note('rollback');
      throw error;
    }),
  );
}

@Injectable()
export class PlainTransaction implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return transaction(next.handle());
  }
}

@Injectable()
export class DeferredTransaction implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return defer(() => from(note('begin'))).pipe(mergeMap(() => transaction(next.handle())));
  }
}

@Injectable()
export class AsyncTransaction implements NestInterceptor {
  async intercept(_: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    await note('begin');
    return transaction(next.handle());
  }
}

/** As with a callback: `dataSource.transaction(() => ...)`. */
@Injectable()
export class CallbackTransaction implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return defer(async () => {
      await note('begin');
      try {
        const result: unknown = await lastValueFrom(next.handle());
        await note('commit');
        return result;
      } catch (error) {
        await note('rollback');
        throw error;
      }
    });
  }
}
