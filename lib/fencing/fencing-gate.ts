import { Injectable } from '@nestjs/common';
import { LockConfigError } from '../errors/lock-config.error.js';
import { LockDriverError } from '../errors/lock-driver.error.js';
import { LockError } from '../errors/lock.error.js';
import { StaleFencingTokenError } from '../errors/stale-fencing-token.error.js';
import type { FencingStatement, FencingTokenValue } from '../interfaces/fencing.interface.js';
import type { Admission, AdmitRequest } from '../interfaces/lock-driver.interface.js';
import type { LockService } from '../lock.service.js';
import { parseFencingToken } from './parse-fencing-token.js';

/** What numbers tell exactly; no clock comes to it before the year 2255. */
const FARTHEST = BigInt(Number.MAX_SAFE_INTEGER);

/** A token that was asked about, and how the driver is asked. */
interface Question {
  readonly token: bigint;
  readonly request: AdmitRequest;
}

/**
 * Lets a write through if its fencing token is not older than the newest one that the resource has seen. It stands in
 * the store of the lock service, whose namespace it uses.
 */
@Injectable()
export class FencingGate {
  constructor(private readonly locks: LockService) {}

  /**
   * Resolves if the token is admitted, and rejects with `StaleFencingTokenError` if not.
   *
   * @param transaction that of the write, in what form the driver knows: both then commit together. What fails in it is
   * thrown as it is, so that whoever repeats transactions knows what to do.
   */
  async admit(resource: string, token: FencingTokenValue, transaction?: unknown): Promise<void> {
    const question = this.question(resource, token);
    assertAdmitted(question, await this.ask(question.request, transaction));
  }

  /** The same as a statement for any client of the database, with the check of what it gives. */
  statement(resource: string, token: FencingTokenValue): FencingStatement {
    const { driver } = this.locks.options;
    const question = this.question(resource, token);
    if (driver.admitStatement === undefined) {
      throw new LockConfigError(
        `The driver \`${driver.name}\` has no statement for other clients: use \`admit()\``,
      );
    }
    const { text, values, admission } = driver.admitStatement(question.request);
    return { text, values, check: (rows) => assertAdmitted(question, admission(rows)) };
  }

  /** @internal */
  get options(): LockService['options'] {
    return this.locks.options;
  }

  private question(resource: string, value: FencingTokenValue): Question {
    const token = parseFencingToken(value);
    // The driver is to say that a forged one is ahead; it need not know numbers that are not exact.
    const bounded = token > FARTHEST ? FARTHEST : token;
    const request = {
      resource: this.locks.keys.one(resource),
      token: Number(bounded),
      retention: this.options.fencing.retention,
    };
    return { token, request };
  }

  private async ask(request: AdmitRequest, transaction: unknown): Promise<Admission> {
    const { driver } = this.options;
    if (driver.admitToken === undefined) {
      throw new LockConfigError(`The driver \`${driver.name}\` has no fencing gate`);
    }
    try {
      return await driver.admitToken(request, transaction);
    } catch (cause) {
      throw transaction === undefined ? driverError(driver.name, request.resource, cause) : cause;
    }
  }
}

function assertAdmitted({ token, request }: Question, admission: Admission): void {
  if (!admission.admitted) {
    const { rule, newest } = admission;
    throw new StaleFencingTokenError({ resource: request.resource, token, rule, newest });
  }
}

function driverError(driver: string, resource: string, cause: unknown): LockError {
  if (cause instanceof LockError) {
    return cause;
  }
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new LockDriverError(`${driver} failed to admit a fencing token: ${reason}`, {
    keys: [resource],
    cause,
  });
}
