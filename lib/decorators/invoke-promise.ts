import type { EngineHandle } from '../core/lock-handle.js';
import { isPending } from '../core/maybe-promise.js';
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
  const result = await service.engine.run(handle, proceed);
  if (isObservable(result)) {
    throw lock.unexpectedObservable();
  }
  return result;
}
