import { Observable } from 'rxjs';
import { LockConfigError } from '../errors/lock-config.error.js';
import { LeaderElection } from '../leader/leader-election.js';
import type { LeaderRole } from '../leader/leader-role.accessor.js';
import type { Term } from '../leader/term.js';
import { heldObservable } from './held-observable.js';
import type { Keeping } from './keeping.js';
import type { AnyMethod } from './locked-method.js';
import { isObservable, type ReturnKind } from './return-kind.js';
import { requireLockService } from './service-slot.js';

/** A method that runs the original if this process is the leader, for as long as it is. */
export function leaderOnlyMethod(
  original: AnyMethod,
  role: LeaderRole,
  kind: ReturnKind,
): AnyMethod {
  const run = kind === 'observable' ? subscribeAsLeader : runAsLeader;
  return function (this: unknown, ...args: unknown[]): unknown {
    return run(role, this, () => original.apply(this, args));
  };
}

async function runAsLeader(
  role: LeaderRole,
  instance: unknown,
  proceed: () => unknown,
): Promise<unknown> {
  const result = await termOf(role, instance)?.run(proceed);
  if (isObservable(result)) {
    throw new LockConfigError(
      `${role.where} returned an Observable, which nobody expected, and which is not subscribed to. Declare the return ` +
        `type as Observable, or say { returns: 'observable' }`,
    );
  }
  return result;
}

function subscribeAsLeader(
  role: LeaderRole,
  instance: unknown,
  proceed: () => unknown,
): Observable<unknown> {
  return new Observable((subscriber) => {
    const term = termOf(role, instance);
    if (term === null) {
      subscriber.complete();
      return undefined;
    }
    return heldObservable(proceed, keepingOf(term)).subscribe(subscriber);
  });
}

/** The present term. A process that was not started by Nest stands from the first call on. */
function termOf({ name, service, options, where }: LeaderRole, instance: unknown): Term | null {
  const election = LeaderElection.of(requireLockService(instance, service, where));
  const campaign = election.find(name);
  if (campaign === undefined && election.awaitsStart) {
    return null;
  }
  return (campaign ?? election.stand(name, options)).term;
}

/** The leader's lock is not given back with what runs under it. */
function keepingOf(term: Term): Keeping {
  const leave = term.enter();
  return {
    handle: term.handle,
    inside: (work) => term.runUnder(work),
    coversConsumers: true,
    rest: () => undefined,
    release: () => Promise.resolve(leave()),
  };
}
