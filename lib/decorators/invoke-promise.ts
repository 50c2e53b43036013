import type { EngineHandle } from '../core/lock-handle.js';
import { isPending } from '../core/maybe-promise.js';
import type { Visit } from '../interceptors/handler-scope.js';
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
  const result = await service.engine.run(handle, proceed);
  if (isObservable(result)) {
    throw lock.unexpectedObservable();
  }
  return result;
}

/** A call as the handler of a request: the scope keeps the lock until the whole chain around it has ended. */
export function invokeAsHandler(call: Call, visit: Visit): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const settled = runAsHandler(call, visit, (observable) => resolve(observable(settled))).finally(
      () => visit.leave(),
    );
    settled.then(resolve, reject);
  });
}

/** Gives the caller an observable while the call is still under way; it ends no sooner than `settled`. */
type Answer = (observable: (settled: Promise<unknown>) => unknown) => void;

async function runAsHandler(
  { lock, instance, args, proceed }: Call,
  visit: Visit,
  answer: Answer,
): Promise<unknown> {
  const service = lock.serviceOf(instance);
  visit.scope.mapErrors = service.options.mapErrors;
  const settings = { ...lock.settingsFor(service), signal: visit.scope.ending };
  let handle: EngineHandle;
  try {
    handle = await visit.take(service, lock.keysOf(args), settings);
  } catch (error) {
    return lock.insteadOf(error, instance, args);
  }
  return service.engine.run(handle, () =>
    visit.run(async () => {
      const result = await runBody(visit, proceed);
      if (!isObservable(result)) {
        return result;
      }
      visit.scope.becomeStream();
      let leaveBody: (() => void) | undefined;
      const inside = (work: () => void): void =>
        service.engine.runUnder(handle, () => visit.run(work));
      const limits = { ttl: settings.ttl, ending: visit.scope.ending };
      return untilObserved(limits, (subscribed, ended) => {
        const source = (): unknown => {
          subscribed();
          leaveBody = visit.scope.enterBody();
          return result;
        };
        answer((settled) => {
          const release = async (): Promise<void> => {
            leaveBody?.();
            ended();
            await Promise.allSettled([settled]);
          };
          return heldObservable(source, { handle, inside, release });
        });
      });
    }),
  );
}

async function runBody(visit: Visit, body: () => unknown): Promise<unknown> {
  const leaveBody = visit.scope.enterBody();
  try {
    return await body();
  } finally {
    leaveBody();
  }
}

/** Waits until an observable has ended; or nobody has subscribed to it for a ttl, or ever will, as the chain has ended. */
function untilObserved(
  { ttl, ending }: { readonly ttl: number; readonly ending: AbortSignal },
  observe: (subscribed: () => void, ended: () => void) => void,
): Promise<void> {
  return new Promise((resolve) => {
    const forgotten = setTimeout(resolve, ttl).unref();
    const subscribed = (): void => {
      clearTimeout(forgotten);
      ending.removeEventListener('abort', left);
    };
    const left = (): void => {
      subscribed();
      resolve();
    };
    ending.addEventListener('abort', left);
    observe(subscribed, resolve);
    if (ending.aborted) {
      left();
    }
  });
}
