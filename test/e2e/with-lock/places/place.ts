import type { ModuleMetadata } from '@nestjs/common';
import {
  DistributedLockModule,
  type DistributedLockModuleOptions,
  type LockService,
} from 'nestjs-distributed-lock';
import { Stage } from '../../../support/stage.js';

/** What a locked method can return. */
export type Kind = 'promise' | 'observable' | 'promiseOfObservable';

/** What the caller of a locked method sees in the end. */
export type Outcome = { readonly value: unknown } | { readonly error: unknown };

/** The key that the methods of all places lock. */
export const KEY = 'the-key';

/** What an application is made of. */
export interface SetUp {
  readonly stage: Stage;
  readonly options: DistributedLockModuleOptions;
}

/** Where Nest calls methods: one method of each kind, all locked by {@link KEY}. */
export interface Place {
  open(setUp: SetUp): Promise<OpenPlace>;
  /** What the caller sees of what the method returns. */
  value(value: string): Outcome;
  /** What the caller sees of a `LockError`. */
  lockError(statusCode: number, code: string): Outcome;
  /** What the caller sees of an error of the method's own. */
  ownError(error: Error): Outcome;
}

export interface OpenPlace {
  /** The lock service of the application; of each, where there are replicas. */
  readonly locks: readonly LockService[];
  call(kind: Kind): Promise<Outcome>;
  /** Goes the same way to a method that is not locked: what was sent before it has arrived after it. */
  ping(): Promise<unknown>;
  close(): Promise<unknown>;
}

/** The module of a place, with what they all have. */
export function moduleOf({ stage, options }: SetUp, own: ModuleMetadata): ModuleMetadata {
  return {
    ...own,
    imports: [DistributedLockModule.forRoot(options), ...(own.imports ?? [])],
    providers: [{ provide: Stage, useValue: stage }, ...(own.providers ?? [])],
  };
}

/** For callers that get what the method returns. */
export const plainValue = (value: string): Outcome => ({ value });

export async function outcomeOf(answer: Promise<unknown>): Promise<Outcome> {
  try {
    return { value: await answer };
  } catch (error) {
    return { error };
  }
}
