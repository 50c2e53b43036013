import { Logger } from '@nestjs/common';
import { formatMs, nodeOf } from './errors/format.js';
import { LockLostError, type LockLostReason } from './errors/lock-lost.error.js';
import type {
  LockEvent,
  LockLostEvent,
  LockUnknownEvent,
} from './interfaces/lock-event.interface.js';

const ADVICE: Record<LockLostReason, string> = {
  expired:
    'Check the backend and the network at this time, and this process for pauses (CPU limit, garbage collection, a blocked event loop).',
  taken:
    'Find out whether somebody force-released it, or whether the backend failed over, was flushed or restored.',
  maxHold: 'The work hangs, or maxHold is too short for it.',
  forced: 'Somebody called forceRelease() here.',
  stopped: 'Make the work heed lock.signal, or raise drainTimeout.',
  released: 'It was used after its release.',
  resigned: 'It was used after resign().',
  notElected: 'Look at isLeader first.',
};

/** Tells the operator of trouble: what happened to which lock, what follows from it, and where to look. */
export class LockLogger {
  private readonly logger: Logger;

  constructor(
    context: string,
    private readonly driverName: string,
  ) {
    this.logger = new Logger(context);
  }

  /** Writes what means trouble; everyday events are not for the log. */
  report(event: LockEvent): void {
    switch (event.type) {
      case 'lost':
        return this.lost(event);
      case 'unknown':
        return this.unknown(event);
      case 'heldLong':
        return this.logger.warn(
          `${event.key} has been held for ${formatMs(event.held)} by ${nodeOf(event.owner)}, ten times its ttl: its ` +
            `work is slow or hangs, and everybody else waits. Set maxHold to bound it.`,
        );
      default:
        return undefined;
    }
  }

  /** Writes what the driver warns of. */
  warning(message: string): void {
    this.logger.warn(message);
  }

  /** Writes that a part of the shutdown failed, which is no reason to fail the rest of it. */
  shutdownFailed(step: string, error: unknown): void {
    this.logger.warn(
      `${step} failed at shutdown: ${reasonOf(error)}. What is still held ends with its ttl.`,
    );
  }

  /** Writes that the locks exclude nobody outside of this process. */
  memoryInProduction(): void {
    this.logger.warn(
      'MemoryLockDriver in production: its locks hold inside this process only, other replicas do not see them. Use a ' +
        'shared backend, or new MemoryLockDriver({ singleProcess: true }) if there is only one process.',
    );
  }

  private lost(event: LockLostEvent): void {
    const advice = event.error instanceof LockLostError ? ` ${ADVICE[event.error.reason]}` : '';
    this.logger.error(
      `${event.error.message}. Work that ignores lock.signal runs on without protection, beside the next holder.${advice}`,
    );
  }

  private unknown(event: LockUnknownEvent): void {
    const reason = reasonOf(event.cause);
    if (event.during === 'release') {
      this.logger.warn(
        `Releasing ${event.key} failed: ${reason}. It is tried again; at the latest the lock is free when its ttl ends, ` +
          `and others wait until then. Check ${this.driverName}.`,
      );
      return;
    }
    this.logger.warn(
      `Renewing ${event.key} failed: ${reason}. It is tried again; unless a renewal gets through, the lock is lost in ` +
        `${formatMs(event.remaining)}. Check ${this.driverName}.`,
    );
  }
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
