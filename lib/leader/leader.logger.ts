import { Logger } from '@nestjs/common';
import type { LockLostError } from '../errors/lock-lost.error.js';
import type { LockError } from '../errors/lock.error.js';

/** The campaign that something is told of. */
interface Candidate {
  readonly name: string;
  readonly nodeId: string;
}

/** Tells the operator who leads, and why nobody does. */
export class LeaderLogger {
  private readonly logger: Logger;

  constructor(context: string) {
    this.logger = new Logger(context);
  }

  elected({ name, nodeId }: Candidate, fencingToken: bigint): void {
    this.logger.log(`${nodeId} is the leader of ${name} (fencing token ${fencingToken})`);
  }

  deposed({ name, nodeId }: Candidate, { reason, message }: LockLostError): void {
    if (reason === 'resigned') {
      this.logger.log(`${nodeId} has resigned from ${name}`);
    } else {
      const next = reason === 'stopped' ? '' : ', and stands again';
      this.logger.warn(`${nodeId} is no longer the leader of ${name}${next}: ${message}`);
    }
  }

  /** It goes on trying; until then there may be no leader at all. */
  cannotStand({ name, nodeId }: Candidate, { message }: LockError): void {
    this.logger.warn(`${nodeId} cannot stand for ${name}, and tries again: ${message}`);
  }

  reclaimFailed({ name, nodeId }: Candidate, error: unknown): void {
    this.logger.warn(
      `${nodeId} could not reclaim ${name}, and waits for the ttl of its former self: ${reasonOf(error)}`,
    );
  }

  /** It does not try again: this is a mistake. */
  campaignFailed({ name, nodeId }: Candidate, error: unknown): void {
    this.logger.error(`The campaign of ${nodeId} for ${name} has ended: ${reasonOf(error)}`);
  }

  handlerFailed({ where }: { readonly where: string }, error: unknown): void {
    const stack = error instanceof Error ? error.stack : undefined;
    this.logger.error(`${where} failed: ${reasonOf(error)}`, stack);
  }
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
