import { LockDriverError } from '../../../../lib/errors/lock-driver.error.js';
import { explain } from '../../../../lib/drivers/redis/explain-error.js';
import { ClusteredOperation } from '../../../../lib/drivers/redis/clustered-operation.js';
import {
  type Operation,
  type OperationDefinition,
  ScriptedOperation,
} from '../../../../lib/drivers/redis/scripted-operation.js';
import { Script } from '../../../../lib/drivers/redis/scripts.js';
import { type Outcome, watch } from '../../../support/outcome.js';
import { FakeRunner } from './fake-runner.js';

/** A request of which only the kind decides what it can be sent with. */
export interface Question {
  readonly key: string;
  readonly kind?: string;
}

/** What a scene may have of its own. */
export interface OperationSceneOptions {
  readonly limit?: number;
  /** The slot of a key, in a cluster. */
  readonly slotOf?: (key: string) => number;
}

/** An operation over a runner that the test answers; each key is to be answered with a text of its own. */
export class OperationScene {
  readonly runner = new FakeRunner();
  readonly script = new Script('return {}');
  readonly operation: Operation<Question, string>;

  constructor({ limit = 100, slotOf }: OperationSceneOptions = {}) {
    const definition: OperationDefinition<Question, string> = {
      script: this.script,
      runner: this.runner,
      limit,
      fits: (one, other) => one.kind === other.kind,
      args: (requests) => requests.map(({ key, kind = 'plain' }) => `${kind} ${key}`),
      answers: (reply) => reply.map((one) => (one instanceof Error ? one : String(one))),
    };
    const create = (): Operation<Question, string> => new ScriptedOperation(definition, 'lock:');
    this.operation = slotOf === undefined ? create() : new ClusteredOperation(slotOf, create);
  }

  ask(key: string, kind?: string): Outcome<string> {
    return watch(this.operation.ask(kind === undefined ? { key } : { key, kind }));
  }

  /** Asks for so many keys, `a0`, `a1` and so on. */
  askMany(letter: string, count: number): Outcome<string>[] {
    return Array.from({ length: count }, (_, index) => this.ask(`${letter}${index}`));
  }

  /** The keys of each call so far, without their prefix. */
  get sent(): string[][] {
    return this.runner.sent.map((keys) => keys.map((key) => key.replace('lock:', '')));
  }

  /** Answers a call: each of its keys with its own name. */
  answer(index: number): void {
    const call = this.runner.calls[index];
    call?.answer(call.keys.map((key) => key.replace('lock:', 'of ')));
  }
}

/** What the runner makes of a server's error. */
export const serverError = (message: string): LockDriverError => explain(new Error(message));
