import type { EngineHandle } from '../core/lock-handle.js';
import { isPending } from '../core/maybe-promise.js';
import type { HandlerScope } from '../interceptors/handler-scope.js';
import type { LockService } from '../lock.service.js';
import { heldObservable } from './held-observable.js';
import type { Call } from './locked-method.js';
import { isObservable } from './return-kind.js';

/** A call anywhere but in the handler it belongs to: the lock goes when the promise has settled. */
export async function invokePromise({ lock, instance, args, proceed }: Call): Promise<unknown> {
  const service = lock.serviceOf(instance);
  let handle: EngineHandle;
  try {
    const started = service.take(lock.keysOf(args), lock.settingsFor(service));
    handle = isPending(started) ? await started : started;
  } catch (error) {
    return lock.insteadOf(error, instance, args);
  }
  return service.engine.run(handle, async () => {
    const result = await proceed();
    if (isObservable(result)) {
      throw lock.unexpectedObservable();
    }
    return result;
  });
}

/** A call as the handler of a request: the scope keeps the lock until the whole chain around it has ended. */
export function invokeInScope(call: Call, scope: HandlerScope): Promise<unknown> {
  const leave = scope.enter();
  return new Promise((resolve, reject) => {
    runInScope(call, scope, resolve).then(resolve, reject).finally(leave);
  });
}

/** `answer` gives the caller an observable while its lock is still held. */
async function runInScope(
  { lock, instance, args, proceed }: Call,
  scope: HandlerScope,
  answer: (observable: unknown) => void,
): Promise<unknown> {
  const service = lock.serviceOf(instance);
  const settings = lock.settingsFor(service);
  let handle: EngineHandle;
  try {
    handle = await scope.take(lock.id, service, lock.keysOf(args), settings);
  } catch (error) {
    return lock.insteadOf(error, instance, args);
  }
  return service.engine.run(handle, () =>
    scope.runWithin(lock.id, async () => {
      const result = await proceed();
      return isObservable(result)
        ? untilObserved(result, service, handle, settings.ttl, answer)
        : result;
    }),
  );
}

/** Hands the observable on, and waits until it has ended, or nobody has subscribed to it for a ttl. */
function untilObserved(
  observable: unknown,
  service: LockService,
  handle: EngineHandle,
  ttl: number,
  answer: (observable: unknown) => void,
): Promise<void> {
  return new Promise((resolve) => {
    const forgotten = setTimeout(resolve, ttl).unref();
    const source = (): unknown => {
      clearTimeout(forgotten);
      handle.assertHeld();
      return observable;
    };
    const release = async (): Promise<void> => {
      resolve();
      await handle.release();
    };
    const inside = <T>(work: () => T): T => service.engine.runUnder(handle, work);
    answer(heldObservable(source, { handle, inside, release }));
  });
}
