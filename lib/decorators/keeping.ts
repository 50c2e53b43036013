import type { EngineHandle } from '../core/lock-handle.js';
import { isPending } from '../core/maybe-promise.js';
import type { MaybePromise } from '../interfaces/lock-driver.interface.js';
import type { Visit } from '../interceptors/visit.js';
import type { LockService } from '../lock.service.js';
import type { Call } from './locked-method.js';

/** A lock that a call of a method has, and how the method is kept under it. */
export interface Keeping {
  readonly handle: EngineHandle;
  /** Runs something as a part of the locked method, in the frame of the lock. */
  readonly inside: <T>(work: () => T) => T;
  /** Whether what consumers do with a value is done in the async context that it came in, and so under this lock. */
  readonly coversConsumers: boolean;
  /** The method has settled for now; what its promise gave may go on. */
  readonly rest: () => void;
  /** Gives the lock back. */
  readonly release: () => Promise<unknown>;
}

/** Takes the lock of a call: at once where that is possible, else by a promise. */
export function takeKeeping(
  { lock, instance, args }: Call,
  visit: Visit | undefined,
  signal: AbortSignal,
): MaybePromise<Keeping> {
  const service = lock.serviceOf(instance);
  if (visit !== undefined) {
    visit.scope.mapErrors = service.options.mapErrors;
  }
  const keys = lock.keysOf(args);
  const settings = { ...lock.settingsFor(service), signal };
  const keep = (handle: EngineHandle): Keeping =>
    visit === undefined ? keptAlone(service, handle) : keptInScope(service, handle, visit);
  const taken = visit?.take(service, keys, settings) ?? service.take(keys, settings);
  return isPending(taken) ? taken.then(keep) : keep(taken);
}

/** A consumer that takes the same lock for each value would wait for itself, and joins instead. */
function keptAlone(service: LockService, handle: EngineHandle): Keeping {
  return {
    handle,
    inside: (work) => service.engine.runUnder(handle, work),
    coversConsumers: true,
    rest: () => undefined,
    release: () => handle.release(),
  };
}

/** The chain runs under what the scope keeps. If it calls or subscribes to the method again, that is no call within a call. */
function keptInScope(service: LockService, handle: EngineHandle, visit: Visit): Keeping {
  let leaveBody: (() => void) | undefined;
  const rest = (): void => leaveBody?.();
  return {
    handle,
    inside: (work) => {
      leaveBody = visit.scope.enterBody();
      return service.engine.runUnder(handle, () => visit.inside(work));
    },
    coversConsumers: false,
    rest,
    release: () => {
      rest();
      return handle.release().finally(() => visit.leave());
    },
  };
}
