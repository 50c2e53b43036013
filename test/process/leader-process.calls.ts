import type { CampaignOptions } from '../../lib/interfaces/leader-election.interface.js';
import type { RetryOptions } from '../../lib/interfaces/lock-options.interface.js';

/** The backends on which leaders are elected by several processes. */
export type BackendKind = 'redis' | 'postgres';

/** How a process is set up. */
export interface CandidateSetup {
  readonly backend: BackendKind;
  readonly url: string;
  /** What it stands for. */
  readonly office: string;
  readonly options: CampaignOptions & { readonly nodeId: string };
  readonly retry?: RetryOptions;
  /** Where it writes its terms. */
  readonly log: string;
}

/** What a process can be told to do. */
export type Call = { readonly id: number } & (
  | { readonly name: 'boot' }
  | { readonly name: 'stand' }
  | { readonly name: 'look' }
  | { readonly name: 'resign' }
  | {
      readonly name: 'write';
      /** Whether the write goes through the fencing gate. */
      readonly gated: boolean;
      /** Whether the process stops itself when it has made sure that it leads, and before it writes. */
      readonly stops: boolean;
    }
);

/** The call of a name. */
export type CallOf<Name extends Call['name']> = Extract<Call, { readonly name: Name }>;

/** A call before it gets its number. */
export type Request<C = Call> = C extends unknown ? Omit<C, 'id'> : never;

/** What became of a call. */
export interface Reply {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** What a process tells by itself, when its campaign tells it. */
export interface Note {
  readonly note: 'elected' | 'deposed';
  /** By the clock of the machine, which all processes share, in milliseconds. */
  readonly at: number;
  /** The fencing token as text; why the term has ended. */
  readonly about: string;
}

/** How a process sees itself. */
export interface Look {
  readonly isLeader: boolean;
  /** How often it has found itself to be the leader, this term. */
  readonly looks: number;
  /** How often it has asked for the seat so far, was answered, and was told that somebody had given it back. */
  readonly asked: number;
  readonly answered: number;
  readonly told: number;
}
