import type {
  AcquireRequest,
  Denial,
  Grant,
  LockDriver,
  LockRecord,
  ReleaseRequest,
  ReleaseResult,
  RenewRequest,
  RenewResult,
} from '../../interfaces/lock-driver.interface.js';
import { poll } from './wait.js';

/** A ttl that no test outlives, for leases that must still be held at its end. */
export const LONG = 600_000;

/** A ttl for leases whose end is waited for. */
export const SHORT = 150;

type Options<T> = Partial<Omit<T, 'key' | 'owner'>>;

/** One owner that contends for one key through one driver. */
export class Contender {
  constructor(
    readonly driver: LockDriver,
    readonly key: string,
    readonly owner: string,
    readonly patience: number,
  ) {}

  async acquire(options: Options<AcquireRequest> = {}): Promise<Grant | Denial> {
    return this.driver.acquire({ key: this.key, owner: this.owner, ttl: LONG, ...options });
  }

  async granted(options?: Options<AcquireRequest>): Promise<Grant> {
    const answer = await this.acquire(options);
    if (!isGrant(answer)) {
      throw new Error(`${this.owner} was denied, but should be granted ${this.key}`);
    }
    return answer;
  }

  async denied(options?: Options<AcquireRequest>): Promise<Denial> {
    const answer = await this.acquire(options);
    if (isGrant(answer)) {
      throw new Error(`${this.owner} was granted ${this.key}, but should be denied`);
    }
    return answer;
  }

  /** Tries until the lock is free. */
  grantedAtLast(options?: Options<AcquireRequest>): Promise<Grant> {
    const attempt = async (): Promise<Grant | false> => {
      const answer = await this.acquire(options);
      return isGrant(answer) && answer;
    };
    return poll(`${this.key} to become free`, attempt, this.patience);
  }

  async renew(options: Options<RenewRequest> = {}): Promise<RenewResult> {
    const lease = { key: this.key, owner: this.owner, ttl: LONG, ...options };
    const [result] = await renewAll(this.driver, [lease]);
    if (result === undefined) {
      throw new Error('One lease was to be renewed, and there was no answer');
    }
    return result;
  }

  async release(options: Options<ReleaseRequest> = {}): Promise<ReleaseResult> {
    return this.driver.release({ key: this.key, owner: this.owner, ...options });
  }

  async inspect(): Promise<LockRecord | null> {
    return this.driver.inspect(this.key);
  }

  /** Milliseconds until the present lease ends, whoever has it. */
  async remaining(): Promise<number> {
    return (await this.inspect())?.remaining ?? 0;
  }
}

/** What became of renewals, none of which may fail. */
export async function renewAll(
  driver: LockDriver,
  leases: readonly RenewRequest[],
): Promise<readonly RenewResult[]> {
  const results = await driver.renew(leases);
  return results.map((result) => {
    if (result instanceof Error) {
      throw result;
    }
    return result;
  });
}

export function isGrant(answer: Grant | Denial): answer is Grant {
  return 'firstToken' in answer;
}

export function lastToken(block: Grant): number {
  return block.firstToken + block.tokens - 1;
}
