import { LockLostError } from '../errors/lock-lost.error.js';
import type { LeaderElection } from './leader-election.js';
import type { LeaderRole } from './leader-role.accessor.js';
import { LeaderLogger } from './leader.logger.js';
import type { Term } from './term.js';

/** Calls the methods that want to know who leads; what they throw is logged, for nobody waits for them. */
export class LeaderListener {
  private readonly logger: LeaderLogger;

  constructor(context: string) {
    this.logger = new LeaderLogger(context);
  }

  attach(
    election: LeaderElection,
    role: LeaderRole,
    instance: object | undefined,
    method: string,
  ): void {
    const call = (...args: unknown[]): unknown =>
      Reflect.apply(Reflect.get(instance!, method) as Function, instance, args);
    if (role.kind === 'elected') {
      election.listen(role.name, {
        elected: (term) => void this.elected(role, term, () => call(term)),
      });
    } else if (role.kind === 'deposed') {
      election.listen(role.name, {
        deposed: (term, change) => void this.deposed(role, term, () => call(change)),
      });
    }
  }

  /** Its work is the leader's: who resigns gives the seat back when it has ended. */
  private async elected(role: LeaderRole, term: Term, work: () => unknown): Promise<void> {
    const leave = term.enter();
    try {
      await afterwards();
      if (term.isLive) {
        await term.run(work);
      }
    } catch (error) {
      if (!isEndOf(term, error)) {
        this.logger.handlerFailed(role, error);
      }
    } finally {
      leave();
    }
  }

  /** Who resigns gives the seat back when it has ended: the next leader finds everything left in order. */
  private async deposed(role: LeaderRole, term: Term, work: () => unknown): Promise<void> {
    const leave = term.enter();
    try {
      await afterwards();
      await term.runUnder(work);
    } catch (error) {
      this.logger.handlerFailed(role, error);
    } finally {
      leave();
    }
  }
}

/** The engine may be in the middle of a change. */
function afterwards(): Promise<void> {
  return Promise.resolve();
}

/** Whether a body has ended as it was told to by its term's signal. */
function isEndOf({ signal }: Term, error: unknown): boolean {
  const own = error instanceof LockLostError ? error.cause : error;
  return signal.aborted && (own === undefined || (own as Error | null)?.name === 'AbortError');
}
