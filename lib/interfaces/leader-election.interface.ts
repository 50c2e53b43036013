import type { Observable } from 'rxjs';
import type { LockLostReason } from '../errors/lock-lost.error.js';
import type { Duration } from './lock-options.interface.js';
import type { CheckLeaderMethod } from './with-lock-checks.types.js';

/** How a process stands for election; each has a module-wide default in `leader`. */
export interface CampaignOptions {
  /**
   * Names this candidate to others. A process that is restarted under the same name is another candidate, and waits
   * for the old one's ttl unless it says `reclaim`.
   * @default the module's `node`
   */
  readonly nodeId?: string;
  /**
   * How long a leader that is gone, or cut off, keeps the seat at most.
   * @default the module's `ttl`
   */
  readonly ttl?: Duration;
  /**
   * The time between two renewals of a leader. `ttl` must leave room for one that is missed.
   * @default a sixth of `ttl`
   */
  readonly heartbeat?: Duration;
  /**
   * How long a leader's fencing token stays the same; the first heartbeat after it brings a larger one. At most half of `ttl`.
   * @default a third of `ttl`
   */
  readonly tokenPeriod?: Duration;
  /**
   * Take the seat from a former process of the same `nodeId` at once. If that one still lives, only fencing protects
   * from it.
   * @default false
   */
  readonly reclaim?: boolean;
}

/** A campaign of this process, and what became of it so far. */
export interface Leadership {
  /** What it is the leader of. */
  readonly name: string;
  /** This candidate. */
  readonly nodeId: string;
  /** Whether this process is certainly the leader, by the clock. */
  readonly isLeader: boolean;
  /** Larger than all tokens of former leaders; it rises during a term. Throws `LockLostError` unless this is the leader. */
  readonly fencingToken: bigint;
  /** Aborts when the present term ends, by loss or by `resign()`; its reason is a `LockLostError`. Aborted while this is not the leader. */
  readonly signal: AbortSignal;
  /** Tells of each term when it begins and when it ends, and of the present one whoever subscribes during it; completes with the campaign. */
  readonly changes$: Observable<LeadershipChange>;
  /**
   * Ends the campaign. A leader stops being one at once; when what runs under its term has ended, the seat is given
   * back and the next candidate has it without waiting for a ttl. Work of the term itself is not made to wait for that.
   */
  resign(): Promise<void>;
}

/**
 * One term of this process. What works for a term uses its token and its signal, and not those of the {@link Leadership}:
 * these would be of the next term by the time that belated work asks for them.
 */
export interface LeaderTerm {
  readonly name: string;
  readonly nodeId: string;
  /** Whether this term certainly goes on, by the clock. */
  readonly isLive: boolean;
  /** Rises during the term. Throws `LockLostError` when the term has ended. */
  readonly fencingToken: bigint;
  /** Aborts when the term ends; its reason is a `LockLostError`. */
  readonly signal: AbortSignal;
}

/** Options of `@LeaderOnly`, `@OnElected` and `@OnDeposed`: those of the campaign that they start, and whose it is. */
export interface LeaderOptions extends CampaignOptions {
  /**
   * The named instance whose locks it stands on.
   * @default 'default'
   */
  readonly service?: string;
}

/** Options of `@LeaderOnly`. */
export interface LeaderOnlyOptions extends LeaderOptions {
  /**
   * What the method returns, where neither its type nor its form tells.
   * @default 'observable' if its return type says so, else 'promise'
   */
  readonly returns?: 'promise' | 'observable';
}

/** What `@LeaderOnly` returns. */
export interface LeaderOnlyDecorator {
  <Method>(
    target: object,
    name: string | symbol,
    descriptor: TypedPropertyDescriptor<Method> & CheckLeaderMethod<Method>,
  ): void;
  /** Lets it stand in `applyDecorators`; on a class it is refused when that is loaded. */
  (target: Function): void;
}

/** A term of this process has begun. */
export interface ElectedChange {
  readonly name: string;
  readonly nodeId: string;
  readonly isLeader: true;
  readonly fencingToken: bigint;
}

/** A term of this process has ended. */
export interface DeposedChange {
  readonly name: string;
  readonly nodeId: string;
  readonly isLeader: false;
  readonly reason: LockLostReason;
}

/** What a campaign has come to. */
export type LeadershipChange = ElectedChange | DeposedChange;
